#pragma once

// Reads ONNX bytes into a Graph. The bytes are untrusted: limits are checked on the wire format
// before protobuf parses them, and all sizes, names and references before a graph is built. Files
// are never opened.

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

struct Skeleton;  // What the writer needs besides the graph (skeleton.h).

// A model as it was read. Immutable except for `graph`, which the owner may change or move away,
// because the writer gets the optimized graph separately.
struct Model {
  model::Graph graph;

  // --- For people and reports
  int64_t ir_version = 0;
  int opset = 0;  // The default domain's version; 0 if it is not imported.
  std::map<std::string, int64_t> opset_imports;  // By domain; "" is the default domain.
  std::map<std::string, int64_t> op_counts;      // Main graph; "Conv", "com.acme.Foo".
  std::string producer;                          // Name and version.
  bool has_external_data = false;
  int64_t overridable_initializers = 0;  // Initializers that are also inputs.
  int64_t frozen_initializers = 0;       // Those that ReadOptions made constants.
  int64_t inlined_calls = 0;             // Inlined calls of functions.
  std::vector<ObjectionAt> objections;   // What ONNX's checker would reject.
  // How many outputs of the graph, the last ones, are values to keep (ReadOptions): no file has
  // them as outputs.
  int kept_values = 0;

  // For nodes of the file that became several nodes: the name of that node's first output, by the
  // names of the values in between, which the file does not have.
  std::map<std::string, std::string> inner_values;

  std::shared_ptr<const Skeleton> skeleton;
};

// Reads a model. `external_data` has the bytes of files by their locations, exactly as written in
// the model. Weights of some size refer to model_bytes and external_data.
// `owner` keeps these alive; if it is null, the caller must keep them alive as long as the model,
// its graph or copies of its tensors exist.
//
// Nodes of the graph are canonical (core/ops/op.h) or opaque. They are put into topological order,
// in which ONNX demands them to be. Value types are those that the model declares; call
// ops::InferTypes next. The result passes model::Validate.
//
// Harmless parts that ONNX's checker would reject are accepted. The nodes concerned are opaque, and
// Model::objections describes the problem.
//
// All errors name the node or field. MODEL_MALFORMED, MODEL_CYCLIC, EXTERNAL_DATA_PATH,
// EXTERNAL_DATA_MISSING and LIMIT_* refuse a model. Models that other runtimes may be able to run
// give MODEL_SHAPE (an input and its default contradict each other), MODEL_UNSUPPORTED (such as
// names that are not text) and OPSET_UNKNOWN.
absl::StatusOr<Model> Read(absl::string_view model_bytes,
                           const std::map<std::string, absl::string_view>& external_data,
                           const Limits& limits, std::shared_ptr<const void> owner,
                           const ReadOptions& options = {});

}  // namespace quotient::onnx
