#pragma once

// Helpers for tests of single operators. A test gives, in text form (core/model/text.h), the inputs
// and constants that one node reads, and the node, which computes `y`:
//
//   EXPECT_THAT(ValuesOf(R"(const x: float32[2] = [-1, 2]
//                           y = Relu(x))"),
//               ElementsAre(0, 2));

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "core/base/status_macros.h"
#include "core/model/graph.h"
#include "core/model/text.h"
#include "core/ops/infer_graph.h"
#include "core/ops/op.h"
#include "tests/support/graphs.h"

namespace quotient::testing {

inline model::Graph OneNode(absl::string_view text) {
  return MustParse(absl::StrCat("graph test {\n", text, "\noutput y\n}"));
}

// Returns y. Everything that the node reads must be constant.
inline absl::StatusOr<model::Tensor> Evaluated(absl::string_view text, int threads = 1) {
  const model::Graph graph = OneNode(text);
  std::vector<const model::Tensor*> inputs;
  for (model::ValueId id : graph.nodes[0].inputs) {
    inputs.push_back(id.valid() ? &*graph.value(id).constant : nullptr);
  }
  QUOTIENT_ASSIGN_OR_RETURN(std::vector<model::Tensor> outputs,
                            ops::EvaluateNode(graph.nodes[0], inputs, threads));
  return outputs[0];
}

// The elements of y. Adds a test failure and returns none if the node cannot be evaluated.
inline std::vector<double> ValuesOf(absl::string_view text, int threads = 1) {
  const absl::StatusOr<model::Tensor> y = Evaluated(text, threads);
  if (y.ok()) return y->AsDoubles();
  ADD_FAILURE() << y.status() << "\n" << text;
  return {};
}

// The graph with inferred types and the node in canonical form.
inline absl::StatusOr<model::Graph> Inferred(absl::string_view text) {
  model::Graph graph = OneNode(text);
  QUOTIENT_RETURN_IF_ERROR(ops::InferTypes(graph));
  return graph;
}

// The inferred type of y as text, with "?" for dimensions that do not follow, or the error message.
inline std::string TypeOf(absl::string_view text) {
  const absl::StatusOr<model::Graph> graph = Inferred(text);
  if (!graph.ok()) return std::string(graph.status().message());
  return TypeText(graph->value(graph->outputs[0]).type);
}

// The attributes of the canonical node as text, or the error message.
inline std::string AttributesOf(absl::string_view text) {
  const absl::StatusOr<model::Graph> graph = Inferred(text);
  if (!graph.ok()) return std::string(graph.status().message());
  return model::ToString(graph->nodes[0].attributes);
}

}  // namespace quotient::testing
