#pragma once

// A model, the kernels that a runtime made of it, and what one asks of both to tell why.

#include <optional>
#include <string>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "absl/strings/string_view.h"
#include "core/cost/cost_model.h"
#include "core/explain/kernel_map.h"
#include "core/model/graph.h"

namespace quotient::explain {

// Why the runtime did not do something.
struct Reason {
  absl::string_view name;  // In one word, for programs.
  std::string text;        // A phrase.
};

// Borrows all that it is made of.
class ModelView {
 public:
  // `open` is the same model with its symbols; its values have the same names. What it knows of a
  // shape is what the runtime knows before it runs.
  ModelView(const model::Graph& graph, const model::Graph& open, const cost::GraphCost& cost);

  const model::Graph& graph() const { return graph_; }
  const cost::GraphCost& cost() const { return cost_; }
  const KernelMap& kernels() const { return kernels_; }

  const model::Node& node(model::NodeId id) const { return graph_.node(id); }
  std::optional<size_t> KernelOf(model::NodeId id) const { return kernels_.kernel_of[id.value()]; }
  const kernels::KernelSpec& Spec(size_t kernel) const { return cost_.groups[kernel].spec; }
  // Whether the node has a kernel to itself.
  bool IsAlone(model::NodeId id) const;
  // Whether the node has a kernel to itself, or with activations behind it: a factor or a
  // normalization that became a Conv of single channels takes these.
  bool StandsAlone(model::NodeId id) const;
  // Whether it is of this operator and has a kernel to itself.
  bool IsAlone(model::NodeId id, absl::string_view op) const;

  // The nodes that read a value, each once.
  const std::vector<model::NodeId>& Readers(model::ValueId id) const;
  bool IsOutput(model::ValueId id) const;
  // The node that computes a value; invalid for inputs, constants and inputs left out.
  model::NodeId Producer(model::ValueId id) const;
  // The only reader of a value that is no output of the model; else invalid.
  model::NodeId OnlyReader(model::ValueId id) const;
  bool IsConstant(model::ValueId id) const { return graph_.is_constant(id); }
  // Whether an input is constant for the runtime as well, which folds less than we do. Known of
  // nodes whose kernels are named after them.
  bool IsConstantOperand(model::NodeId id, size_t input) const;
  // The number that a constant of one element is.
  std::optional<double> Number(model::ValueId id) const;

  const model::TensorType& Type(model::ValueId id) const { return graph_.value(id).type; }
  // The type with symbols.
  const model::TensorType& OpenType(model::ValueId id) const;
  // "[1,24,1,1]".
  std::string ShapeText(model::ValueId id) const;
  // What people call a node.
  std::string Name(model::NodeId id) const;

 private:
  const model::Graph& graph_;
  const model::Graph& open_;
  const cost::GraphCost& cost_;
  const KernelMap kernels_;
  std::vector<std::vector<model::NodeId>> readers_;  // By value.
  std::vector<bool> is_output_;                      // By value.
  absl::flat_hash_map<std::string, model::ValueId> open_values_;
};

}  // namespace quotient::explain
