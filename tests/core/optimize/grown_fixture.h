#pragma once

// A fixture for tests of what is chosen from a grown e-graph: a graph from text, grown by rules
// from text until they have nothing left to do.

#include <gtest/gtest.h>

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "core/ops/infer_graph.h"
#include "core/optimize/grown_egraph.h"
#include "core/rules/family.h"
#include "core/search/saturate.h"
#include "tests/support/fake_backend.h"
#include "tests/support/graphs.h"
#include "tests/support/status_matchers.h"

namespace quotient::optimize {

class GrownTest : public ::testing::Test {
 protected:
  // `lines` are those of a graph in text form. Nobody checks that the rules hold.
  void Grow(absl::string_view lines, const char* rules, cost::CostModel* model,
            const StopCondition& stop = {}) {
    model::Graph graph = testing::MustParse(absl::StrCat("graph g {\n", lines, "\n}"));
    ASSERT_OK(ops::InferTypes(graph));
    families_ = {{"of the test", rules, nullptr, nullptr}};
    auto prices = std::make_unique<pricing::KernelPrices>(model);
    pricing::TensorWorkspace::Settings settings;
    settings.max_opset = 20;
    settings.families = families_;
    ASSERT_OK_AND_ASSIGN(auto workspace,
                         pricing::TensorWorkspace::Make(graph, graph, settings, prices.get()));
    const search::Task task{.clock = clock_};
    ASSERT_OK(search::SaturateStrategy().Run(*workspace, task).status());
    grown_ = std::make_unique<GrownEGraph>(std::move(prices), std::move(workspace),
                                           eval::FoldLimits(), stop, surcharge_);
    grown_->costs().Refresh();
  }

  // The class of a value of the graph.
  egraph::ClassId Class(absl::string_view value) const {
    const domain::TensorEGraph& tensors = grown_->tensors();
    const model::ValueId id = testing::MustFind(tensors.original, value);
    return grown_->graph().Find(tensors.class_of_value[id.value()]);
  }
  // The e-node in the class of a value that applies this operator, which must exist.
  egraph::ENodeId ENode(absl::string_view value, absl::string_view op) const {
    for (const egraph::ENodeId node : grown_->graph().nodes(Class(value))) {
      if (OpOf(node) == op) return node;
    }
    ADD_FAILURE() << value << " is computed by no " << op;
    return {};
  }
  std::string OpOf(egraph::ENodeId node) const {
    return grown_->tensors().domain->word(grown_->graph().node(node).op).name;
  }
  // The original's selection, where these values are computed by other operators, without what is
  // then needed no more.
  extract::Selection SelectionWith(
      const std::vector<std::pair<std::string, std::string>>& op_of_value) const {
    extract::Selection selection = OriginalSelection(grown_->graph());
    for (const auto& [value, op] : op_of_value) {
      selection.choice[Class(value).value()] = ENode(value, op);
    }
    return WhatIsNeeded(selection);
  }
  extract::Selection WhatIsNeeded(const extract::Selection& selection) const {
    extract::Selection needed;
    needed.choice.resize(selection.choice.size());
    std::vector<egraph::ClassId> open(grown_->problem().roots.begin(),
                                      grown_->problem().roots.end());
    while (!open.empty()) {
      const egraph::ClassId cls = grown_->graph().Find(open.back());
      open.pop_back();
      if (needed.of(cls).valid()) continue;
      const egraph::ENodeId node = selection.of(cls);
      needed.choice[cls.value()] = node;
      const auto children = grown_->graph().node(node).children;
      open.insert(open.end(), children.begin(), children.end());
    }
    return needed;
  }

  static std::vector<std::string> OpsOf(const model::Graph& graph) {
    std::vector<std::string> ops;
    for (const model::Node& node : graph.nodes) ops.push_back(node.op);
    return ops;
  }

  double surcharge_ = 0;
  kernels::fake::FakeClock clock_;
  std::vector<rules::Family> families_;
  std::unique_ptr<GrownEGraph> grown_;
};

}  // namespace quotient::optimize
