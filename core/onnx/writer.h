#pragma once

// Graph -> ONNX bytes, with everything that the model had beside its graph: names, order, doc
// strings, metadata, functions, fields that we do not know.
//
// Inputs (unused and overridable ones too), outputs and their types are exactly those of the model.
// Nodes that did not change are written as they were read. Initializers that nothing uses any more
// are dropped. Equal graphs give equal bytes.

#include <cstdint>
#include <string>

#include "absl/status/statusor.h"
#include "core/model/graph.h"
#include "core/onnx/reader.h"

namespace quotient::onnx {

struct WriteOptions {
  // The result's opset is the lowest one, at least the model's own, that can say all nodes; it is
  // never above this. 0: the model's own.
  int max_opset = 0;

  // What the model calls its external data file. Used where the model had external data, or where
  // it would pass max_inline_bytes; empty: then that is an error.
  std::string external_location;

  // A model with larger weights gets external data: protobuf ends at 2 GiB.
  int64_t max_inline_bytes = (int64_t{1} << 31) - 1;

  // Tensors from here on go into the external file, if there is one.
  int64_t min_external_bytes = 1024;

  // Take the dimensions of inputs and outputs from the graph where they are numbers: for graphs
  // whose shapes were bound on purpose.
  bool bind_types = false;
};

struct WrittenModel {
  std::string bytes;
  std::string external_data;  // empty: there is none
  int opset = 0;
};

// `optimized` has the interface of original's graph, and inferred types. OPSET_UNKNOWN if it needs
// an opset above HighestOpset(original, max_opset), naming the node; LIMIT_BYTES, OPTION_INVALID;
// INTERNAL if it is not a graph of this model.
absl::StatusOr<WrittenModel> Write(const Model& original, const model::Graph& optimized,
                                   const WriteOptions& options);

// The highest opset <= max_opset (0: the model's own) to which the model can be raised so that
// operators we do not understand, in subgraphs and functions too, still mean the same. At least the
// model's own.
int HighestOpset(const Model& model, int max_opset);

// Whether the node can be written at that opset: the question to ask before a rewrite is chosen.
// Types of its inputs and outputs count as far as they are known.
bool CanWrite(const model::Graph& graph, const model::Node& node, int opset);

}  // namespace quotient::onnx
