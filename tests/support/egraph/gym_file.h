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
// field. What is refused although it is JSON: a key twice in one object, and objects and arrays
// within each other deeper than any such file has them.

#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "tests/support/egraph/extraction_case.h"

namespace quotient::testing {

struct GymFile {
  extract::Problem problem() const { return example.problem(); }

  ExtractionCase example;
  std::vector<std::string> roots;  // what the file calls those of the problem, in their order
};

// In the order of the e-nodes' ids. INVALID_ARGUMENT if the text is not of that form or longer than
// 128 MiB, and if the costs are so large that their sum is infinite. Takes up to 25 times the size
// of the text in memory, which is that of an e-graph with ids of one letter.
absl::StatusOr<GymFile> ParseGymText(absl::string_view text);

// A file of that form, compressed with gzip (as one piece or several) or not. Errors name it.
// NOT_FOUND if it cannot be read, DATA_LOSS if what is compressed is damaged, cut short or followed
// by something else.
absl::StatusOr<GymFile> ReadGymFile(const std::string& path);

}  // namespace quotient::testing
