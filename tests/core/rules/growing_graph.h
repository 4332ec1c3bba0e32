#pragma once

// A graph that grows node by node, by random numbers. Equal seeds and calls give equal graphs.

#include <optional>
#include <string>
#include <vector>

#include "absl/strings/string_view.h"
#include "core/base/rng.h"
#include "core/model/graph.h"

namespace quotient::rules {

class GrowingGraph {
 public:
  // Two inputs of that type and of one shape, images or sequences.
  GrowingGraph(uint64_t seed, model::DType dtype);
  // The nodes, inputs and outputs of a static graph with inferred types.
  GrowingGraph(uint64_t seed, const model::Graph& base);

  model::DType dtype() const { return dtype_; }
  int num_nodes() const { return static_cast<int>(graph_.nodes.size()); }
  const model::TensorType& TypeOf(model::ValueId id) const { return graph_.value(id).type; }

  int64_t Pick(int64_t bound) { return static_cast<int64_t>(rng_.Below(bound)); }
  bool Chance(int percent) { return Pick(100) < percent; }
  double Uniform(double low, double high) { return rng_.Uniform(low, high); }

  // Values that nodes may read: inputs and outputs of nodes, of at least one axis and one element
  // in a base.
  bool HasValues() const { return !pool_.empty(); }
  // A value; early ones often, so that several nodes share an input.
  model::ValueId Any();
  model::ValueId Last() const { return pool_.back(); }

  // A constant of numbers in that range.
  model::ValueId Constant(model::Ints dims, double low = -1, double high = 1);
  model::ValueId Index(int64_t index);
  // Adds a node of one output. Keeps it only if its types can be inferred and it stays small.
  std::optional<model::ValueId> Try(absl::string_view op, std::vector<model::ValueId> inputs,
                                    model::AttributeMap attributes = {});

  // The graph, with an output for each value that no node reads behind those of the base.
  model::Graph Finish() &&;

 private:
  Rng rng_;
  model::DType dtype_;
  model::Graph graph_;
  std::string prefix_;  // Of the names of new values.
  std::vector<model::ValueId> pool_;
};

}  // namespace quotient::rules
