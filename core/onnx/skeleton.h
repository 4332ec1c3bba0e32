#pragma once

// Skeleton: what a Model keeps for the writer. It has the parsed model without the bytes of its
// weights, and refers to these bytes. Internal to this folder.

#include <map>
#include <memory>
#include <string>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "absl/strings/string_view.h"
#include "core/model/shape.h"
#include "core/model/tensor.h"
#include "core/onnx/external_reference.h"
#include "core/onnx/limits.h"
#include "core/onnx/objection_at.h"
#include "core/onnx/proto.h"
#include "core/onnx/weights.h"

namespace quotient::onnx {

struct Skeleton {
  ModelProto proto;
  // As StrippedModel::raw_data.
  std::vector<absl::string_view> raw_data;
  ExternalFiles files;
  Limits limits;
  std::shared_ptr<const void> owner;
  bool has_external_data = false;

  int opset = 0;
  // A constant of the main graph, which was an initializer or a Constant node.
  struct Constant {
    model::Tensor tensor;
    int initializer = -1;  // Index in proto.graph.initializer, or -1.
    int node = -1;         // Index in proto.graph.node, or -1.
  };
  absl::flat_hash_map<std::string, Constant> constants;
  // Names and types, in order, of those inputs that are inputs of the graph. Before IR version 4,
  // initializers are also listed as inputs, but are constants.
  std::vector<std::string> input_names;
  std::vector<model::TensorType> input_types;
  // Operators of the default domain in opaque nodes, their subgraphs, and functions, with the opset
  // that defines each.
  std::vector<std::pair<std::string, int>> opaque_ops;
  // See Model.
  int kept_values = 0;
  std::map<std::string, std::string> inner_values;
  // See Model.
  std::vector<ObjectionAt> objections;

  WeightSource weights() const { return {files, limits, owner}; }
};

}  // namespace quotient::onnx
