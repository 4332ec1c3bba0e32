#pragma once

// ONNX bytes -> Graph. Nothing of the bytes is trusted: limits are checked on the wire format
// before protobuf sees them, all sizes, names and references before a graph is built, and files are
// never opened.

#include <cstdint>
#include <map>
#include <memory>
#include <string>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "core/model/graph.h"
#include "core/onnx/limits.h"

namespace quotient::onnx {

struct Skeleton;  // what the writer needs beside the graph: skeleton.h

// A model as read. Immutable but for `graph`, which its owner may take away or change: the writer
// gets the optimized graph separately.
struct Model {
  model::Graph graph;

  // For people and reports.
  int64_t ir_version = 0;
  int opset = 0;                                 // of the default domain; 0: no node is of it
  std::map<std::string, int64_t> opset_imports;  // all domains, "" is the default one
  std::map<std::string, int64_t> op_counts;      // of the main graph: "Conv", "com.acme.Foo"
  std::string producer;                          // name and version
  bool has_external_data = false;

  std::shared_ptr<const Skeleton> skeleton;
};

// `external_data`: location, exactly as the model writes it -> the file's bytes. Weights refer to
// model_bytes and external_data where their layout allows it; `owner` keeps those alive, null means
// that the caller does, for as long as the model, its graph or copies of its tensors live.
//
// Nodes of the graph are canonical (core/ops/op.h) or opaque. Nodes that are not in topological
// order, as ONNX demands, are put into it. Value types are those that the model declares; run
// ops::InferTypes next. The result passes model::Validate.
//
// Errors, all naming the node or field: MODEL_MALFORMED, MODEL_CYCLIC, MODEL_SHAPE,
// EXTERNAL_DATA_PATH, EXTERNAL_DATA_MISSING, LIMIT_*, OPSET_UNKNOWN.
absl::StatusOr<Model> Read(absl::string_view model_bytes,
                           const std::map<std::string, absl::string_view>& external_data,
                           const Limits& limits, std::shared_ptr<const void> owner);

}  // namespace quotient::onnx
