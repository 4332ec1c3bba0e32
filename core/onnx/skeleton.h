#pragma once

// What a Model keeps for the writer: the parsed model without its weights' bytes, and where those
// are. Internal to this folder.

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
  // Bytes of the main graph's initializers that are not in `proto`; see StripModel.
  std::vector<absl::string_view> raw_data;
  ExternalFiles files;
  Limits limits;
  std::shared_ptr<const void> owner;
  bool has_external_data = false;

  int opset = 0;
  // A constant of the main graph and where it was: an initializer, or a Constant node.
  struct Constant {
    model::Tensor tensor;
    int initializer = -1;  // index in proto.graph.initializer
    int node = -1;         // index in proto.graph.node
  };
  absl::flat_hash_map<std::string, Constant> constants;
  // Names and types, in order, of the inputs that the graph has as inputs. (Before IR version 4
  // initializers are listed as inputs too, and are constants.)
  std::vector<std::string> input_names;
  std::vector<model::TensorType> input_types;
  // Operators of the default domain that stand in opaque nodes, their subgraphs, or functions, with
  // the opset they are meant by.
  std::vector<std::pair<std::string, int>> opaque_ops;
  // See Model.
  std::map<std::string, std::string> inner_values;
  // See Model.
  std::vector<ObjectionAt> objections;

  WeightSource weights() const { return {files, limits, owner}; }
};

}  // namespace quotient::onnx
