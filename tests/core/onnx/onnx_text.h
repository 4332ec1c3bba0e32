#pragma once

// Makes models for tests from ONNX's own text syntax:
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

// Parses a model. Ends the program if the text is invalid, because the test itself is wrong then.
::onnx::ModelProto ModelFromText(absl::string_view text);

// Parses "g (...) => (...) {...}" as a model with this opset and IR version 8.
::onnx::ModelProto ModelAtOpset(int opset, absl::string_view graph_text);

// Reads a model with default limits. The model keeps its bytes alive.
absl::StatusOr<onnx::Model> ReadProto(const ::onnx::ModelProto& proto,
                                      const std::map<std::string, std::string>& files = {});

// Parses the bytes of a model, which must be valid.
::onnx::ModelProto ParseBytes(absl::string_view bytes);

// Reads the model, infers types, writes it and parses the result. All of that must succeed.
::onnx::ModelProto RoundTrip(const ::onnx::ModelProto& proto,
                             const onnx::WriteOptions& options = {});

// Reads the model, lets `change` modify the graph, removes dead nodes, and writes the graph.
absl::StatusOr<::onnx::ModelProto> WriteChanged(
    const ::onnx::ModelProto& before, const std::function<void(model::Graph& graph)>& change,
    const onnx::WriteOptions& options = {});

// "Conv,Relu,Conv": the operators of the main graph in order.
std::string OpsOf(const ::onnx::ModelProto& proto);
std::string OpsOf(const model::Graph& graph);

// Runs the graph on deterministic inputs of its types, which must be static, and returns the
// outputs. Fails if the evaluator fails.
absl::StatusOr<std::vector<model::Tensor>> RunOnRamp(model::Graph graph);

}  // namespace quotient::testing
