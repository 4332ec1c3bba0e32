#pragma once

// Random inputs that a graph's consumers can take: indices in range, those of ScatterND each once,
// positive numbers in front of Log and Sqrt. In two kinds: small and friendly ones, on which all
// models compute something, and wide ones, which find what holds for small and positive numbers
// alone. Each kind has several draws, for models on which the first tells nothing.

#include <cstdint>
#include <span>
#include <vector>

#include "absl/strings/string_view.h"
#include "core/model/graph.h"

namespace quotient::verify {

// How values are drawn.
struct Draw {
  absl::string_view name;  // for people: "values in [-1, 1]"

  // Floats: 0: uniform in [-1, 1], positive ones in [0.1, 1.1]; else of magnitudes up to this, down
  // to 1e-3, mixed with zeros of both signs, halves and thresholds of the graph.
  double magnitude = 0;
  // With infinities where something behind the input makes ordinary numbers of them, and some
  // numbers below zero also where a Log or Sqrt reads them.
  bool has_specials = false;
  // Integers that are no indices, and booleans: 0: masks of ones and zeros, the first a one; else
  // rows of ones, of zeros, of both, and of integers up to this.
  int64_t largest_integer = 0;
  bool has_negative_integers = false;  // such integers, and indices counted from the end
  bool has_zero_integers = true;       // else all are at least one
};

// Draws of the friendly kind, in the order in which they should be tried.
std::span<const Draw> UnitDraws();
// Draws of the wide kind for a graph, wider ones first. `assume_finite_inputs`: whether no input is
// ever infinite.
std::span<const Draw> WideDraws(const model::Graph& graph, bool assume_finite_inputs = false);

// One tensor per input of a static graph, in order. The values depend on seed, draw, the input's
// position and type, and on how it is used; nothing else.
std::vector<model::Tensor> RandomInputs(const model::Graph& graph, uint64_t seed,
                                        const Draw& draw = UnitDraws()[0]);

}  // namespace quotient::verify
