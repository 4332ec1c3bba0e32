#pragma once

// Extraction problems in the form of the extraction-gym collection (the crate egraph-serialize):
//
//   {"nodes": {"n0": {"op": "x", "eclass": "c0", "cost": 1.5, "children": []},
//              "n1": {"op": "f", "eclass": "c1", "cost": null, "children": ["n0", "n0"]}},
//    "root_eclasses": ["c1"]}
//
// A child is an e-node's id and means that e-node's class; cycles are fine. "cost" may be absent,
// which means 1, or null, which means infinity: JSON has no number for it. "children" may be
// absent. "op" is not used: e-nodes are different because their ids are. Other fields are skipped.
//
// Files come from anywhere: any bytes give a problem or an error that names the e-node or the
// field.

#include <string>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "tests/support/egraph/extraction_case.h"

namespace quotient::testing {

// In the order of the e-nodes' ids. INVALID_ARGUMENT if the text is not of that form or longer than
// 128 MiB, and if the costs are so large that their sum is infinite.
absl::StatusOr<ExtractionCase> ParseGymText(absl::string_view text);

// A file of that form, compressed with gzip or not. Errors name it.
absl::StatusOr<ExtractionCase> ReadGymFile(const std::string& path);

}  // namespace quotient::testing
