#pragma once

// OpenSizes: the dimensions of a model's inputs that have no number, what is assumed for them, and
// the shapes that follow from numbers in their place.

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "core/model/graph.h"
#include "core/ops/infer_graph.h"

namespace quotient::optimize {

// What is assumed for a first dimension.
inline constexpr int64_t kAssumedBatch = 1;

// A symbol for which a number has to be found.
struct OpenSize {
  std::string symbol;
  std::string input;    // Name of the first input that has the symbol.
  int axis = 0;         // The symbol's axis in that input.
  int64_t assumed = 0;  // The number that is tried first.
};

// Does not change once it was made. Borrows the graph and what was asked.
class OpenSizes {
 public:
  // `asked` holds the dims that the user gave.
  OpenSizes(const model::Graph& graph, const ops::InputShapes& asked);

  // In the order of the inputs and their axes. Only inputs that a live node reads count.
  const std::vector<OpenSize>& list() const { return sizes_; }
  // Numbers of the symbols that `asked` binds.
  const std::map<std::string, int64_t>& bound() const { return bound_; }

  // The shapes of the inputs, as ops::BindShapes takes them. `numbers` are parallel to list().
  ops::InputShapes ShapesWith(const std::vector<int64_t>& numbers) const;

  // "'length' of input 'ids', 2 of input 'mask'": the first of the sizes.
  std::string Names() const;
  // Sentences on what was assumed, and on inputs for which nothing can be assumed.
  std::vector<std::string> Notes(const std::vector<int64_t>& numbers) const;

 private:
  void CollectBound();
  void CollectSizes();
  bool IsOpen(model::ValueId id) const;
  int64_t Assumed(size_t input, int axis) const;
  int64_t NumberOf(const model::Dim& dim, const std::vector<int64_t>& numbers) const;

  const model::Graph& graph_;
  const ops::InputShapes& asked_;
  const std::vector<bool> read_;  // By value: whether a live node reads it.
  std::map<std::string, int64_t> bound_;
  std::vector<OpenSize> sizes_;
  std::map<std::string, size_t> index_;  // Index in sizes_ by symbol.
};

}  // namespace quotient::optimize
