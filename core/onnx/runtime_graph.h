#pragma once

// The nodes of a graph as a runtime has optimized it, with its own operators, and models of one
// such node. Nothing is canonical here.

#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "absl/container/flat_hash_set.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "core/model/attribute.h"
#include "core/model/tensor.h"

namespace quotient::onnx {

struct RuntimeNode {
  std::string name;
  std::string domain;  // "" for ONNX's own.
  std::string op;
  // The version of the domain, or the oldest one at which the operator is the same (SinceOpset), so
  // that equal nodes of models of different opsets are equal.
  int64_t opset = 0;
  // Nullopt if it has attributes that model::Attribute cannot hold, such as subgraphs.
  std::optional<model::AttributeMap> attributes;
  std::vector<std::string> inputs;  // "" if left out, as outputs are.
  std::vector<std::string> outputs;
};

struct RuntimeGraph {
  std::vector<RuntimeNode> nodes;                 // In the order in which they are written.
  absl::flat_hash_set<std::string> initializers;  // Names.
};

// Reads the nodes of a model. The data of its initializers may be missing. Fails with
// INVALID_ARGUMENT if the bytes are no model.
absl::StatusOr<RuntimeGraph> ReadRuntimeGraph(absl::string_view model);

// An input of a node that stands alone.
struct NodeInput {
  model::TensorType type;
  std::optional<model::Tensor> constant;  // An input of the model if it has none.
};

// Writes a model of this node alone, which must have attributes. `inputs` are by the names that the
// node uses. Constants of kLeastDetachedBytes or more are not in the model; it refers to them as
// external files of these names.
std::string WriteRuntimeNode(const RuntimeNode& node,
                             const absl::flat_hash_map<std::string, NodeInput>& inputs);

}  // namespace quotient::onnx
