#pragma once

// A fixture for the parts of ENodeCosts: the e-graph of a graph from text, and what runs there.

#include <gtest/gtest.h>

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "core/domain/tensor_egraph.h"
#include "core/ops/infer_graph.h"
#include "core/pricing/enode_kernels.h"
#include "core/pricing/enode_operands.h"
#include "core/pricing/kernel_costs.h"
#include "core/pricing/kernel_prices.h"
#include "tests/core/pricing/scripted_model.h"
#include "tests/support/graphs.h"
#include "tests/support/status_matchers.h"

namespace quotient::pricing {

class PricingTest : public ::testing::Test {
 protected:
  explicit PricingTest(kernels::PartitionOptions partition = {.fuses_attention = true})
      : model_(partition) {}

  // Imports the graph with these lines, and finds the kernels of all e-nodes. Comes first.
  void Import(absl::string_view lines) {
    model::Graph graph = testing::MustParse(absl::StrCat("graph g {\n", lines, "\n}"));
    ASSERT_OK(ops::InferTypes(graph));
    ASSERT_OK_AND_ASSIGN(domain::TensorEGraph tensors, domain::FromGraph(graph, graph));
    world_ = std::make_unique<World>(std::move(tensors), &model_);
    Describe();
  }

  // The class of a value of the graph.
  egraph::ClassId Class(absl::string_view value) const {
    const model::ValueId id = testing::MustFind(tensors().original, value);
    return tensors().egraph->Find(tensors().class_of_value[id.value()]);
  }

  // The e-node of the original that computes a value.
  egraph::ENodeId ENode(absl::string_view value) const {
    const model::Graph& graph = tensors().original;
    const model::NodeId producer = graph.value(testing::MustFind(graph, value)).producer;
    for (const egraph::ENodeId node : tensors().egraph->nodes(Class(value))) {
      if (producer.valid() && tensors().Original(node).node == producer) return node;
    }
    ADD_FAILURE() << "the original has no e-node for " << value;
    return {};
  }

  // Adds an e-node, as a rule would, to the class of a value, or to a class of its own if `value`
  // is empty. Describes all e-nodes anew.
  egraph::ENodeId Rewrite(absl::string_view value, absl::string_view op,
                          std::vector<egraph::ClassId> children,
                          model::AttributeMap attributes = {}) {
    domain::TensorEGraph& tensors = world_->tensors;
    const egraph::ENodeId added(tensors.egraph->enode_bound());
    const auto made =
        tensors.domain->Add(*tensors.egraph, op, std::move(attributes), children, /*origin=*/1);
    EXPECT_OK(made.status());
    if (!value.empty()) EXPECT_OK(tensors.egraph->Union(Class(value), *made, 1).status());
    EXPECT_OK(tensors.egraph->Rebuild());
    Describe();
    return added;
  }

  const domain::TensorEGraph& tensors() const { return world_->tensors; }
  const ENodeOperands& operands() const { return world_->operands; }
  KernelPrices& prices() { return world_->prices; }
  KernelCosts& costs() { return world_->costs; }
  ENodeKernels& kernels() { return world_->kernels; }
  // What each e-node runs as, by ENodeId.
  const std::vector<ENodeKernel>& enodes() const { return enodes_; }

  ENodeContent ContentOf(absl::string_view value) {
    return kernels().ContentOf(ENode(value), kernels().HashOf(ENode(value)));
  }
  // The kernel of a value's e-node, which must have one.
  kernels::KernelSpec SpecOf(absl::string_view value) {
    return prices().Spec(enodes_[ENode(value).value()].kernel);
  }

  // By ENodeId: `us` for each e-node.
  std::vector<double> Costs(double us) const {
    return std::vector<double>(tensors().egraph->enode_bound(), us);
  }
  // By ENodeId: whether it is one of these.
  std::vector<bool> Chosen(const std::vector<egraph::ENodeId>& nodes) const {
    std::vector<bool> chosen(tensors().egraph->enode_bound(), false);
    for (const egraph::ENodeId node : nodes) chosen[node.value()] = true;
    return chosen;
  }

  // Prices are set before Import.
  ScriptedModel model_;

 private:
  struct World {
    World(domain::TensorEGraph graph, cost::CostModel* model)
        : tensors(std::move(graph)),
          prices(model),
          costs(&prices, /*constant_footprint_log2=*/0),
          operands(tensors, costs.partition()),
          kernels(tensors, operands, &costs) {}

    domain::TensorEGraph tensors;
    KernelPrices prices;
    KernelCosts costs;
    ENodeOperands operands;
    ENodeKernels kernels;
  };

  void Describe() {
    const egraph::EGraph& graph = *tensors().egraph;
    world_->operands.PlanLayouts();
    world_->kernels.NumberValues();
    enodes_.assign(graph.enode_bound(), ENodeKernel());
    for (const egraph::ClassId cls : graph.classes()) {
      for (const egraph::ENodeId node : graph.nodes(cls)) {
        const domain::OpWord& word = tensors().domain->word(graph.node(node).op);
        if (word.sort != domain::OpWord::Sort::kOperator) continue;
        const ENodeContent content = kernels().ContentOf(node, kernels().HashOf(node));
        enodes_[node.value()] = {content.kernel, tensors().Original(node).node.valid(),
                                 content.main, content.is_left, content.blocking};
      }
    }
  }

  std::unique_ptr<World> world_;
  std::vector<ENodeKernel> enodes_;
};

}  // namespace quotient::pricing
