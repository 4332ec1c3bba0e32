// All operators on the ONNX project's own cases: what they compute, and what inference says of them
// when it knows everything, only the types, or only which dimensions are equal.

#include "tests/support/node_cases.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <set>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "core/model/graph.h"
#include "core/ops/infer_graph.h"
#include "core/ops/op.h"
#include "tests/support/status_matchers.h"

namespace quotient::ops {
namespace {

using model::Dim;
using model::Graph;
using model::Tensor;
using model::TensorType;
using model::ValueId;
using testing::AllNodeCases;
using testing::CloseEnough;
using testing::NodeCase;

std::vector<std::string> Operators() {
  std::set<std::string> names;
  for (const NodeCase& node_case : AllNodeCases()) names.insert(node_case.op);
  return {names.begin(), names.end()};
}

std::string Shown(const Tensor& tensor) {
  std::string text = absl::StrCat(model::ToString(tensor.type()), " =");
  for (int64_t i = 0; i < std::min<int64_t>(tensor.elements(), 60); ++i) {
    absl::StrAppend(&text, " ", tensor.GetDouble(i));
  }
  return text;
}

// The inputs that are given as constants, the others stay inputs.
Graph WithConstants(const NodeCase& node_case, const std::set<size_t>& constant) {
  Graph graph = node_case.graph;
  std::vector<ValueId> inputs;
  for (size_t i = 0; i < graph.inputs.size(); ++i) {
    if (constant.contains(i)) {
      graph.value(graph.inputs[i]).constant = node_case.inputs[i];
    } else {
      inputs.push_back(graph.inputs[i]);
    }
  }
  graph.inputs = inputs;
  graph.defaults.resize(inputs.size());
  return graph;
}

// Inputs whose values decide on the output's type.
std::set<size_t> ParameterInputs(const NodeCase& node_case) {
  std::set<size_t> inputs;
  for (const Parameter& parameter : FindOp(node_case.op)->parameters) {
    const auto& slots = node_case.graph.nodes[0].inputs;
    const size_t slot = static_cast<size_t>(parameter.input);
    if (slot >= slots.size() || !slots[slot].valid()) continue;
    const auto found =
        std::find(node_case.graph.inputs.begin(), node_case.graph.inputs.end(), slots[slot]);
    inputs.insert(static_cast<size_t>(found - node_case.graph.inputs.begin()));
  }
  if (node_case.op == "Range") inputs = {0, 1, 2};
  return inputs;
}

// Every dimension of more than one element becomes a symbol that tells its size: "d7".
void MakeSymbolic(TensorType& type) {
  for (Dim& dim : *type.shape) {
    if (dim.number() > 1) dim = Dim::Symbol(absl::StrCat("d", dim.number()));
  }
}

// Whether what inference says is true of the expected tensor.
bool Holds(const TensorType& inferred, const TensorType& expected) {
  if (!model::Compatible(inferred, expected)) return false;
  if (!inferred.has_rank()) return true;
  for (int i = 0; i < expected.rank(); ++i) {
    // A name that inference made for one value says nothing.
    const std::string& symbol = inferred.dim(i).symbol();
    if (symbol.empty() || symbol.front() == '?') continue;
    if (symbol != absl::StrCat("d", expected.dim(i).number())) return false;
  }
  return true;
}

class NodeCasesTest : public ::testing::TestWithParam<std::string> {
 protected:
  // Calls check(node_case) for the operator's cases.
  template <typename Check>
  void ForEachCase(Check check) {
    for (const NodeCase& node_case : AllNodeCases()) {
      if (node_case.op != GetParam()) continue;
      SCOPED_TRACE(
          absl::StrCat(node_case.name, "\n", model::ToString(node_case.graph.nodes[0].attributes)));
      ASSERT_NE(FindOp(node_case.op), nullptr);
      check(node_case);
    }
  }
};

TEST_P(NodeCasesTest, ComputesWhatOnnxExpects) {
  ForEachCase([](const NodeCase& node_case) {
    const model::Node& node = node_case.graph.nodes[0];
    std::vector<const Tensor*> inputs;
    size_t next = 0;
    for (ValueId input : node.inputs) {
      inputs.push_back(input.valid() ? &node_case.inputs[next++] : nullptr);
    }
    for (int threads : {1, 3}) {
      ASSERT_OK_AND_ASSIGN(const std::vector<Tensor> outputs, EvaluateNode(node, inputs, threads));
      ASSERT_EQ(outputs.size(), node_case.outputs.size());
      for (size_t i = 0; i < outputs.size(); ++i) {
        EXPECT_TRUE(CloseEnough(outputs[i], node_case.outputs[i]))
            << Shown(outputs[i]) << "\nexpected " << Shown(node_case.outputs[i]);
      }
    }
  });
}

TEST_P(NodeCasesTest, InfersTheTypeFromTypesAndParameters) {
  ForEachCase([](const NodeCase& node_case) {
    Graph graph = WithConstants(node_case, ParameterInputs(node_case));
    ASSERT_OK(InferTypes(graph));
    for (size_t i = 0; i < graph.outputs.size(); ++i) {
      EXPECT_EQ(model::ToString(graph.value(graph.outputs[i]).type),
                model::ToString(node_case.outputs[i].type()));
    }
  });
}

TEST_P(NodeCasesTest, InfersNothingWrongWhereParametersAreNotKnown) {
  ForEachCase([](const NodeCase& node_case) {
    Graph graph = node_case.graph;
    ASSERT_OK(InferTypes(graph));
    for (size_t i = 0; i < graph.outputs.size(); ++i) {
      const TensorType& type = graph.value(graph.outputs[i]).type;
      EXPECT_TRUE(model::Compatible(type, node_case.outputs[i].type())) << model::ToString(type);
    }
  });
}

TEST_P(NodeCasesTest, InfersNothingWrongOfSymbols) {
  ForEachCase([](const NodeCase& node_case) {
    const std::set<size_t> parameters = ParameterInputs(node_case);
    Graph graph = WithConstants(node_case, parameters);
    for (ValueId input : graph.inputs) MakeSymbolic(graph.value(input).type);
    ASSERT_OK(InferTypes(graph));
    for (size_t i = 0; i < graph.outputs.size(); ++i) {
      const TensorType& type = graph.value(graph.outputs[i]).type;
      EXPECT_TRUE(Holds(type, node_case.outputs[i].type()))
          << model::ToString(type) << "\nexpected " << Shown(node_case.outputs[i]);
    }
  });
}

TEST_P(NodeCasesTest, CanonicalFormIsStableAndMeansTheSame) {
  ForEachCase([](const NodeCase& node_case) {
    Graph graph = WithConstants(node_case, ParameterInputs(node_case));
    ASSERT_OK(InferTypes(graph));
    const model::Node once = graph.nodes[0];
    ASSERT_OK(InferTypes(graph));
    EXPECT_EQ(model::ToString(graph.nodes[0].attributes), model::ToString(once.attributes));
    EXPECT_EQ(graph.nodes[0].inputs, once.inputs);

    std::vector<const Tensor*> inputs;
    for (ValueId input : once.inputs) {
      inputs.push_back(nullptr);
      for (size_t i = 0; i < node_case.inputs.size(); ++i) {
        if (node_case.graph.inputs[i] == input) inputs.back() = &node_case.inputs[i];
      }
    }
    ASSERT_OK_AND_ASSIGN(const std::vector<Tensor> outputs, EvaluateNode(once, inputs, 1));
    EXPECT_TRUE(CloseEnough(outputs[0], node_case.outputs[0])) << Shown(outputs[0]);
  });
}

INSTANTIATE_TEST_SUITE_P(AllOperators, NodeCasesTest, ::testing::ValuesIn(Operators()),
                         [](const auto& info) { return info.param; });

TEST(NodeCases, EveryOperatorHasOne) {
  const std::vector<std::string> operators = Operators();
  for (const OpDef* op : AllOps()) {
    EXPECT_TRUE(std::find(operators.begin(), operators.end(), op->name) != operators.end())
        << op->name;
  }
}

}  // namespace
}  // namespace quotient::ops
