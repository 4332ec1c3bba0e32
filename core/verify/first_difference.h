#pragma once

// Where two graphs part: the first value that both have by name and that is not the same in both.

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "core/base/number_text.h"
#include "core/base/stop.h"
#include "core/model/tensor.h"
#include "core/verify/compare.h"
#include "core/verify/cut.h"

namespace quotient::verify {

struct FirstDifference {
  std::string value;  // Its name in both graphs.
  std::string op;     // The operator that computes it in the other graph.
  // The element that differs most, and its number in both. Empty and 0 if the types differ.
  std::string element;  // "[1,3]"
  Number original = 0.0;
  Number other = 0.0;
  // The number of values of both graphs by name that were computed before it and are the same.
  int agreeing = 0;
};

struct FirstDifferenceSettings {
  double tolerance = 0;  // Difference::relative_error
  NonFinite non_finite = NonFinite::kMustAgree;
  int threads = 1;
  // Values of the original are kept until they are compared, from the first one on, as long as all
  // of them together have no more bytes than this.
  int64_t most_bytes = int64_t{1} << 30;
};

// Evaluates both graphs, which are cuts at the same binding. `inputs` are those of the original, in
// its order. Values that both compute under one name are compared in the order in which `other`
// computes them, for equal names usually mean equal values. Rounding is not looked at, so a value
// that it moves far may be named although it is right. Nullopt if no value differs. Fails as
// eval::Evaluate does, but not if a difference was found before `other` could not be evaluated any
// further.
absl::StatusOr<std::optional<FirstDifference>> FindFirstDifference(
    const CutGraph& original, const CutGraph& other, const std::vector<model::Tensor>& inputs,
    const FirstDifferenceSettings& settings, const StopCondition& stop);

}  // namespace quotient::verify
