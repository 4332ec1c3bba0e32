#pragma once

// Makes random inputs that the nodes of a graph accept: indices in range, distinct ones for
// ScatterND, positive numbers for Log and Sqrt. There are two kinds: friendly inputs are small, and
// all models compute something on them; wide inputs reveal rewrites that are right only for small
// or positive numbers. Each kind has several draws, for models whose outputs on the first are not
// meaningful.

#include <cstdint>
#include <span>
#include <vector>

#include "absl/strings/string_view.h"
#include "core/model/graph.h"
#include "core/verify/thresholds.h"

namespace quotient::verify {

// How values are drawn.
struct Draw {
  absl::string_view name;  // A description for people: "values in [-1, 1]".

  // If 0, floats are uniform in [-1, 1], or in [0.1, 1.1] where they must be positive. Otherwise
  // they have magnitudes from 1e-3 to this number, and are mixed with zeros of both signs, halves
  // and thresholds of the graph.
  double magnitude = 0;
  // Whether there are infinities where the graph turns them into finite numbers (Demand), and some
  // negative numbers even where a Log or Sqrt reads them.
  bool has_infinities = false;
  // Whether there are NaN and numbers of magnitude kHuge where the graph takes them (Extremes).
  bool has_extremes = false;
  // For integers that are not indices, and for booleans. If 0, they are masks of ones and zeros
  // that begin with a one. Otherwise there are rows of ones, rows of zeros, rows of both, and rows
  // of integers up to this number.
  int64_t largest_integer = 0;
  bool has_negative_integers = false;  // Also allows indices that count from the end.
  // Whether integers, and indices, are mixed with thresholds of the graph, and with the limits of
  // their type where the graph takes these (Extremes).
  bool has_integer_thresholds = false;
  bool has_zero_integers = true;  // If false, all integers are at least one.
  // Whether integers are drawn uniformly from 1 to largest_integer, so that few of them are equal
  // and differences of two are hardly ever zero.
  bool has_spread_integers = false;
};

// The draws of the friendly kind, in the order in which they should be tried.
std::span<const Draw> UnitDraws();
// The draws of the wide kind for a graph, wider ones first. With `assume_finite_inputs`, no input
// is NaN, infinite, or larger than 1e6.
std::span<const Draw> WideDraws(const model::Graph& graph, bool assume_finite_inputs = false);

// Which set of a check is drawn. A set begins where the sets before it ended: with other indices,
// other thresholds and other kinds of rows. So all of them occur where one set has no room for all.
struct Turn {
  int64_t set = 0;      // The number of sets before it at the same binding.
  int64_t wide = 0;     // How many of these are wide.
  int64_t binding = 0;  // 0 at the dims used for measuring.
};

// Makes one tensor per input of a static graph, in order. The values depend only on the arguments
// and on the position, type and use of the input. `further` are thresholds beside the graph's own.
std::vector<model::Tensor> RandomInputs(const model::Graph& graph, uint64_t seed,
                                        const Draw& draw = UnitDraws()[0], const Turn& turn = {},
                                        const Thresholds& further = {});

// About how many wide sets, at most 16, it takes until every kind of row, every threshold and every
// index has occurred.
int64_t WideSetsWanted(const model::Graph& graph, const Thresholds& further);

}  // namespace quotient::verify
