#pragma once

// Models for tests, from ONNX's own text syntax:
//
//   <ir_version: 8, opset_import: ["" : 13]>
//   g (float[N,4] x) => (float[N,4] y) <float[4] w = {1, 2, 3, 4}> { y = Add(x, w) }

#include <onnx/onnx_pb.h>

#include <functional>
#include <map>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "core/model/graph.h"
#include "core/onnx/reader.h"
#include "core/onnx/writer.h"

namespace quotient::testing {

// The message; ends the program where the text is none, for then the test itself is wrong.
::onnx::ModelProto ModelFromText(absl::string_view text);

// "g (...) => (...) {...}" under this opset and IR version 8.
::onnx::ModelProto ModelAtOpset(int opset, absl::string_view graph_text);

// Reads with default limits. The bytes stay alive as long as the model.
absl::StatusOr<onnx::Model> ReadProto(const ::onnx::ModelProto& proto,
                                      const std::map<std::string, std::string>& files = {});

// The model of these bytes, which must be one.
::onnx::ModelProto ParseBytes(absl::string_view bytes);

// Reads, infers types, writes and parses again; all of it must succeed.
::onnx::ModelProto RoundTrip(const ::onnx::ModelProto& proto,
                             const onnx::WriteOptions& options = {});

// Reads, lets `change` have the graph, drops what is dead then, and writes the graph.
absl::StatusOr<::onnx::ModelProto> WriteChanged(
    const ::onnx::ModelProto& before, const std::function<void(model::Graph& graph)>& change,
    const onnx::WriteOptions& options = {});

// "Conv,Relu,Conv": the operators of the main graph in order.
std::string OpsOf(const ::onnx::ModelProto& proto);
std::string OpsOf(const model::Graph& graph);

// Runs the graph on deterministic inputs that fit its types and returns the outputs. Types must be
// static. Fails where the evaluator does.
absl::StatusOr<std::vector<model::Tensor>> RunOnRamp(model::Graph graph);

}  // namespace quotient::testing
