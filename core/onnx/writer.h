#pragma once

// Writes a graph as ONNX bytes, together with everything else that the original model had: names,
// order, doc strings, metadata, functions, unknown fields.
//
// Inputs, including unused and overridable ones, outputs and their types are exactly those of the
// original. Values to keep (ReadOptions) have their names, and are no outputs. Unchanged nodes are
// written as they were read. Initializers that nothing uses any more are dropped. Equal graphs give
// equal bytes.

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "core/model/graph.h"
#include "core/model/tensor.h"
#include "core/onnx/reader.h"

namespace quotient::onnx {

struct WriteOptions {
  // The highest opset that the result may have; 0 stands for the model's own. The result has the
  // lowest opset, at least the model's own, in which all nodes can be written.
  int max_opset = 0;

  // The location of the external data file. Used if the model had external data or would be larger
  // than max_inline_bytes. If empty, needing external data is an error.
  std::string external_location;

  // A larger model gets external data, because protobuf supports at most 2 GiB.
  int64_t max_inline_bytes = (int64_t{1} << 31) - 1;

  // Tensors of at least this size go into the external data file, if there is one.
  int64_t min_external_bytes = 1024;

  // Take the dimensions of declared types from the graph where they are numbers there. For graphs
  // whose shapes the user has bound.
  bool bind_types = false;

  // Describe the types of all inner values that are known, not only of those that the original
  // describes. Dimensions have the numbers that inference has found, and the model's symbols.
  bool annotate_types = false;

  // Make initializers of Constant nodes, where the IR version lets initializers be no inputs.
  bool constants_as_initializers = false;

  // Weights of at least min_external_bytes are not copied: WrittenModel::weights refers to them.
  // For models that this process alone reads.
  bool refer_to_weights = false;
};

struct WrittenModel {
  std::string bytes;
  std::string external_data;  // Content of the external data file; empty if there is none.
  int opset = 0;
  // --- With WriteOptions::refer_to_weights
  // The weights by the locations that they have in the model, which are made from their content.
  // They lie in `tensors` or in what the original was read from.
  std::map<std::string, absl::string_view> weights;
  std::vector<model::Tensor> tensors;
};

// Writes `optimized`, which must have the inputs and outputs of the original's graph, and inferred
// types. OPSET_UNKNOWN, naming a node, if the node needs an opset above HighestOpset(original,
// max_opset); LIMIT_BYTES if the result is too large for protobuf; OPTION_INVALID for a missing
// external_location; EXTERNAL_DATA_PATH for a forbidden one; INTERNAL if `optimized` is not a graph
// of this model.
absl::StatusOr<WrittenModel> Write(const Model& original, const model::Graph& optimized,
                                   const WriteOptions& options);

// Returns the highest opset, at most `max_opset` and at least the model's own, to which the model
// can be raised without changing the meaning of operators that we do not understand, including
// those in subgraphs and functions.
int HighestOpset(const Model& model, int max_opset);

// Returns an operator that keeps the model from the opset above HighestOpset(model, max_opset),
// because it means something else there and is in a node that is not understood. "" if there is
// none.
std::string OperatorThatKeepsOpset(const Model& model, int max_opset);

}  // namespace quotient::onnx
