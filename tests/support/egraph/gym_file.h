#pragma once

// Reads extraction problems in the format of the extraction-gym collection (the Rust crate
// egraph-serialize):
//
//   {"nodes": {"n0": {"op": "x", "eclass": "c0", "cost": 1.5, "children": []},
//              "n1": {"op": "f", "eclass": "c1", "cost": null, "children": ["n0", "n0"]}},
//    "root_eclasses": ["c1"]}
//
// A child is given by the id of an e-node, which stands for the class of that e-node. Cycles are
// allowed. A missing "cost" means 1; null means infinity, for which JSON has no number. "children"
// may be missing. "op" is ignored, because e-nodes with different ids are different. Other fields
// are skipped.
//
// Files are untrusted: any bytes give a problem, or an error that names the e-node or the field.
// Two kinds of JSON are refused: objects with a repeated key, and deeper nesting than such files
// need.

#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "tests/support/egraph/extraction_case.h"

namespace quotient::testing {

struct GymFile {
  extract::Problem problem() const { return example.problem(); }

  ExtractionCase example;
  std::vector<std::string> roots;  // Names of the problem's roots in the file, in the same order.
};

// Parses a problem. E-nodes are added in the order of their ids. INVALID_ARGUMENT if the text does
// not have this format, is longer than 128 MiB, or has finite costs whose sum is infinite. Takes up
// to 25 times the size of the text in memory, if the ids have one letter.
absl::StatusOr<GymFile> ParseGymText(absl::string_view text);

// Reads a file in this format, which may be compressed with gzip (in one or several members).
// Errors name the file. NOT_FOUND if it cannot be read, DATA_LOSS if the compressed data is
// damaged, truncated or followed by something else.
absl::StatusOr<GymFile> ReadGymFile(const std::string& path);

}  // namespace quotient::testing
