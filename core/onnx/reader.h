#pragma once

// ONNX bytes -> Graph. Nothing of the bytes is trusted: limits are checked on the wire format
// before protobuf sees them, all sizes, names and references before a graph is built, and files are
// never opened.

#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "core/model/graph.h"
#include "core/onnx/limits.h"
#include "core/onnx/objection_at.h"
#include "core/onnx/read_options.h"

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
  int64_t overridable_initializers = 0;  // that are inputs, too
  int64_t frozen_initializers = 0;       // that were, and are constants by ReadOptions
  int64_t inlined_calls = 0;             // of functions
  std::vector<ObjectionAt> objections;   // what ONNX's checker would say against the model

  // Where a node of the file became several: the name of that node's first output, by the names of
  // the values in between, which the file does not have.
  std::map<std::string, std::string> inner_values;

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
// What ONNX's checker would object to and does no harm is read: such a node is opaque, and the
// objection is told.
//
// Errors, all naming the node or field: MODEL_MALFORMED, MODEL_CYCLIC, EXTERNAL_DATA_PATH,
// EXTERNAL_DATA_MISSING, LIMIT_*; of models that others may well run MODEL_SHAPE (an input and its
// default contradict each other), MODEL_UNSUPPORTED (names that are no text, and the like) and
// OPSET_UNKNOWN.
absl::StatusOr<Model> Read(absl::string_view model_bytes,
                           const std::map<std::string, absl::string_view>& external_data,
                           const Limits& limits, std::shared_ptr<const void> owner,
                           const ReadOptions& options = {});

}  // namespace quotient::onnx
