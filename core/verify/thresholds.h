#pragma once

// The numbers of a graph at which its operators may change their behavior. Random inputs contain
// them, because a rewrite may be wrong at one of them alone.

#include <cstdint>
#include <vector>

#include "core/model/graph.h"

namespace quotient::verify {

// Larger floats are no thresholds: they are masks, or the ends of ranges. With
// `assume_finite_inputs` no input is larger (domain::kLargestAssumedInput).
inline constexpr double kLargestThreshold = 1e6;

struct Thresholds {
  // Float attributes (such as the bounds of Clip) and elements of small constants, with which
  // inputs may be compared. At most kLargestThreshold in magnitude.
  std::vector<double> floats;
  // The same of integers, of any magnitude, with what is one less and one more. Whole numbers among
  // `floats` count, too, because an integer input may become a float before it is compared.
  std::vector<int64_t> integers;
};

// Both lists are sorted, without duplicates, and bounded: of more than 64 numbers, 64 are taken
// from the whole range.
Thresholds FindThresholds(const model::Graph& graph);

// Rows in which a table of `other` differs from the table of `graph` with the same type, where both
// are gathered from along their first axis. Tables that both graphs have are left out, and so are
// those beyond the first 64 of a graph. Sorted, at most 64.
std::vector<int64_t> DifferingRows(const model::Graph& graph, const model::Graph& other);

}  // namespace quotient::verify
