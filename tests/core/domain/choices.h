#pragma once

// Makes e-graphs and choices for the tests of this folder.

#include <gtest/gtest.h>

#include <algorithm>
#include <string>
#include <utility>
#include <vector>

#include "core/domain/tensor_egraph.h"
#include "core/ops/infer_graph.h"
#include "tests/support/graphs.h"
#include "tests/support/status_matchers.h"

namespace quotient::domain {

// Parses a static graph and infers its types.
inline model::Graph Parsed(absl::string_view text) {
  model::Graph graph = testing::MustParse(text);
  EXPECT_THAT(ops::InferTypes(graph), testing::IsOk());
  return graph;
}

inline TensorEGraph Imported(const model::Graph& graph) {
  auto tensors = FromGraph(graph, graph);
  EXPECT_THAT(tensors, testing::IsOk());
  return *std::move(tensors);
}

inline ClassId ClassNamed(const TensorEGraph& tensors, absl::string_view value) {
  return tensors.egraph->Find(
      tensors.class_of_value[testing::MustFind(tensors.original, value).value()]);
}

// Chooses the youngest or the oldest e-node of each class.
inline std::vector<ENodeId> Choose(const TensorEGraph& tensors, bool youngest) {
  std::vector<ENodeId> choice(tensors.egraph->class_bound());
  for (const ClassId cls : tensors.egraph->classes()) {
    const auto nodes = tensors.egraph->nodes(cls);
    choice[cls.value()] = youngest ? *std::max_element(nodes.begin(), nodes.end())
                                   : *std::min_element(nodes.begin(), nodes.end());
  }
  return choice;
}

// A rule that only has a name, for tests of the names of new nodes.
class NamedRule final : public egraph::Rule {
 public:
  explicit NamedRule(std::string name) : name_(std::move(name)) {}
  const std::string& name() const override { return name_; }
  const std::string& equation() const override { return name_; }
  void Search(const EGraph&, egraph::MatchSink&) const override {}
  absl::StatusOr<bool> Apply(EGraph&, const egraph::Match&, egraph::Origin) const override {
    return false;
  }

 private:
  const std::string name_;
};

}  // namespace quotient::domain
