// Nodes as an attacker would write them: the ONNX cases with attributes, types and inputs replaced
// at random. Nothing may crash or run away; what is refused is refused with an error. Most telling
// under the sanitizers.

#include <gtest/gtest.h>

#include <limits>
#include <string>
#include <vector>

#include "core/base/rng.h"
#include "core/ops/infer_graph.h"
#include "core/ops/op.h"
#include "core/ops/support.h"
#include "tests/support/node_cases.h"

namespace quotient::ops {
namespace {

using model::Attribute;
using model::Tensor;
using testing::AllNodeCases;
using testing::NodeCase;

class Mutator {
 public:
  explicit Mutator(uint64_t seed) : rng_(seed) {}

  void MutateAttributes(model::Node& node) {
    std::vector<std::string> names;
    for (const AttributeDef& def : FindOp(node.op)->attributes) names.push_back(def.name);
    for (const Parameter& parameter : FindOp(node.op)->parameters) {
      names.push_back(parameter.attribute);
    }
    for (const std::string& name : names) {
      if (rng_.Below(3) == 0) MutateAttribute(name, node.attributes);
    }
  }

  // Another tensor in the place of an input, of any type and shape.
  void MutateInputs(std::vector<Tensor>& inputs) {
    const std::vector<NodeCase>& cases = AllNodeCases();
    for (Tensor& input : inputs) {
      if (rng_.Below(4) != 0) continue;
      const NodeCase& other = cases[rng_.Below(cases.size())];
      if (!other.inputs.empty()) input = other.inputs[rng_.Below(other.inputs.size())];
      if (rng_.Below(4) == 0) input = Tensor::Ints({3}, std::vector<int64_t>{Int(), Int(), Int()});
    }
  }

 private:
  int64_t Int() {
    constexpr int64_t kInts[] = {0,
                                 1,
                                 2,
                                 3,
                                 5,
                                 -1,
                                 -2,
                                 1000,
                                 int64_t{1} << 31,
                                 int64_t{1} << 62,
                                 std::numeric_limits<int64_t>::max(),
                                 std::numeric_limits<int64_t>::min()};
    return kInts[rng_.Below(std::size(kInts))];
  }

  double Double() {
    constexpr double kDoubles[] = {0,
                                   1,
                                   0.5,
                                   -1,
                                   3,
                                   1e-40,
                                   1e30,
                                   std::numeric_limits<double>::infinity(),
                                   std::numeric_limits<double>::quiet_NaN()};
    return kDoubles[rng_.Below(std::size(kDoubles))];
  }

  void MutateAttribute(const std::string& name, model::AttributeMap& attributes) {
    const Attribute* old = attributes.Find(name);
    switch (rng_.Below(4)) {
      case 0:
        attributes.Erase(name);
        return;
      case 1:
        attributes.Set(name, Int());
        return;
      case 2: {
        model::Ints ints;
        for (uint64_t i = rng_.Below(6); i > 0; --i) ints.push_back(Int());
        attributes.Set(name, ints);
        return;
      }
      default:
        break;
    }
    if (old == nullptr) {
      attributes.Set(name, Double());
    } else if (const auto* ints = std::get_if<model::Ints>(old);
               ints != nullptr && !ints->empty()) {
      model::Ints changed = *ints;
      changed[rng_.Below(changed.size())] = Int();
      attributes.Set(name, changed);
    } else if (const auto* floats = std::get_if<model::Floats>(old)) {
      model::Floats changed = *floats;
      changed.push_back(Double());
      attributes.Set(name, changed);
    }
  }

  Rng rng_;
};

// The inferred output types if the node can be evaluated at little cost; evaluating the others says
// nothing but takes long.
bool IsSmallWork(const model::Node& node, const std::vector<const Tensor*>& inputs) {
  std::vector<const model::TensorType*> types;
  std::vector<model::TensorType> storage(inputs.size());
  for (size_t i = 0; i < inputs.size(); ++i) {
    if (inputs[i] != nullptr) storage[i] = inputs[i]->type();
    types.push_back(inputs[i] != nullptr ? &storage[i] : nullptr);
  }
  model::Node canonical = node;
  if (!Canonicalize(canonical, inputs, types).ok()) return true;  // evaluation must say so too
  std::vector<InferInput> infer_inputs(inputs.size());
  for (size_t i = 0; i < inputs.size(); ++i) infer_inputs[i] = {types[i], inputs[i], nullptr};
  const absl::StatusOr<InferResult> result =
      InferNode(*FindOp(canonical.op), {canonical.attributes, infer_inputs, 1});
  return !result.ok() || !result->types[0].is_static() || IsSmall(result->types[0], 100'000);
}

TEST(HostileNodesTest, NeverCrash) {
  int evaluated = 0;
  int refused = 0;
  for (const NodeCase& node_case : AllNodeCases()) {
    for (uint64_t seed = 0; seed < 12; ++seed) {
      SCOPED_TRACE(node_case.name);
      Mutator mutator(seed);
      model::Graph graph = node_case.graph;
      model::Node& node = graph.nodes[0];
      std::vector<Tensor> tensors = node_case.inputs;
      mutator.MutateAttributes(node);
      mutator.MutateInputs(tensors);
      std::vector<const Tensor*> inputs;
      size_t next = 0;
      for (model::ValueId id : node.inputs) {
        inputs.push_back(id.valid() ? &tensors[next] : nullptr);
        if (id.valid()) graph.value(id).type = tensors[next++].type();
      }
      if (IsSmallWork(node, inputs)) {
        EvaluateNode(node, inputs, 1).ok() ? ++evaluated : ++refused;
      }
      // Symbols where there were numbers, and no values.
      for (model::ValueId id : graph.inputs) {
        for (model::Dim& dim : *graph.value(id).type.shape) {
          if (dim.number() > 1) dim = model::Dim::Symbol("s" + std::to_string(dim.number()));
        }
      }
      graph.value(graph.outputs[0]).type = {};
      InferTypes(graph).ok() ? ++evaluated : ++refused;
    }
  }
  EXPECT_GT(evaluated, 1000);
  EXPECT_GT(refused, 1000);
}

// An axis of a tensor without elements may be as long as a number gets: no evaluator may walk it.
TEST(HostileNodesTest, AHugeAxisOfAnEmptyTensorCostsNothing) {
  const model::ValueId x(0);
  const Tensor empty =
      NewTensor(model::StaticType(model::DType::kFloat32, model::Ints{0, 1})).tensor;
  const Tensor* inputs[] = {&empty};
  model::Node node;
  node.inputs = {x};
  node.outputs = {model::ValueId(1)};
  const model::Ints huge = {0, int64_t{1} << 40};
  for (const auto& [op, attributes] : std::vector<std::pair<std::string, model::AttributeMap>>{
           {"Resize", {{"sizes", huge}, {"mode", std::string("linear")}}},
           {"Resize", {{"sizes", huge}}},
           {"Pad", {{"pads", model::Ints{0, 0, 0, (int64_t{1} << 40) - 1}}}},
           {"Expand", {{"shape", huge}}},
       }) {
    node.op = op;
    node.attributes = attributes;
    const absl::StatusOr<std::vector<Tensor>> outputs = EvaluateNode(node, inputs, 1);
    ASSERT_TRUE(outputs.ok()) << op << ": " << outputs.status();
    EXPECT_EQ((*outputs)[0].dims(), huge);
  }
}

// One axis grows while another shrinks: both together would take 2^40 elements.
TEST(HostileNodesTest, ResizeMakesNothingLargerThanItsInputAndOutput) {
  constexpr int64_t kLong = int64_t{1} << 20;
  const Tensor row =
      NewTensor(model::StaticType(model::DType::kFloat32, model::Ints{1, kLong})).tensor;
  const Tensor* inputs[] = {&row};
  model::Node node;
  node.op = "Resize";
  node.inputs = {model::ValueId(0)};
  node.outputs = {model::ValueId(1)};
  node.attributes = {{"sizes", model::Ints{kLong, 1}}, {"mode", std::string("linear")}};
  const absl::StatusOr<std::vector<Tensor>> outputs = EvaluateNode(node, inputs, 1);
  ASSERT_TRUE(outputs.ok()) << outputs.status();
  EXPECT_EQ((*outputs)[0].dims(), (model::Ints{kLong, 1}));
}

TEST(HostileNodesTest, AConvTransposeThatNeedsTooMuchMemoryIsRefused) {
  constexpr int64_t kLong = int64_t{1} << 20;
  const Tensor x =
      NewTensor(model::StaticType(model::DType::kFloat32, model::Ints{1, 1, kLong})).tensor;
  const Tensor* inputs[] = {&x, &x};
  model::Node node;
  node.op = "ConvTranspose";
  node.inputs = {model::ValueId(0), model::ValueId(0)};
  node.outputs = {model::ValueId(1)};
  EXPECT_EQ(GetReason(EvaluateNode(node, inputs, 1).status()), Reason::kLimitBytes);
}

// -2^63 has no opposite, so there is no part of that size to cut off.
TEST(HostileNodesTest, APadThatCannotBeNegatedIsRefused) {
  const Tensor x = NewTensor(model::StaticType(model::DType::kFloat32, model::Ints{5})).tensor;
  const Tensor* inputs[] = {&x};
  model::Node node;
  node.op = "Pad";
  node.inputs = {model::ValueId(0)};
  node.outputs = {model::ValueId(1)};
  node.attributes = {{"pads", model::Ints{std::numeric_limits<int64_t>::min(),
                                          std::numeric_limits<int64_t>::max()}}};
  EXPECT_EQ(GetReason(EvaluateNode(node, inputs, 1).status()), Reason::kModelShape);
}

}  // namespace
}  // namespace quotient::ops
