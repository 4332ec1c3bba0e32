// Reads every network as a user's model is read, and compares it with known numbers: the papers'
// networks with those of their sources, the faithful ones with the sizes that publications and
// frameworks give.

#include "tests/support/networks/networks.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <memory>
#include <optional>
#include <ostream>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "core/onnx/reader.h"
#include "core/ops/infer_graph.h"
#include "tests/support/status_matchers.h"

namespace quotient::networks {
namespace {

using model::Graph;
using ::testing::Each;
using ::testing::UnorderedElementsAreArray;

// Reads a network. All types in its graph are inferred.
absl::StatusOr<onnx::Model> ReadNetwork(const std::string& name, const NetworkOptions& options) {
  std::optional<::onnx::ModelProto> proto = MakeNetwork(name, options);
  if (!proto.has_value()) return absl::NotFoundError(name);
  auto bytes = std::make_shared<std::string>();
  if (!proto->SerializeToString(bytes.get())) return absl::InternalError("too large");
  proto.reset();
  QUOTIENT_ASSIGN_OR_RETURN(onnx::Model model, onnx::Read(*bytes, {}, onnx::Limits(), bytes));
  QUOTIENT_RETURN_IF_ERROR(ops::InferTypes(model.graph));
  return model;
}

struct Size {
  int64_t parameters = 0;  // Elements of trained weights.
  int64_t statistics = 0;  // Elements of means and variances of batch normalization.
  double gflop = 0;        // Two per multiply-add of convolutions and matrix products.
};

double FlopsPerElement(const Graph& graph, const model::Node& node) {
  if (node.op == "Conv") {
    const model::TensorType& weight = graph.value(node.inputs[1]).type;
    return 2.0 * static_cast<double>(weight.elements() / weight.dim(0).number());
  }
  if (node.op == "MatMul" || node.op == "Gemm") {
    return 2.0 * static_cast<double>(graph.value(node.inputs[0]).type.dims().back());
  }
  return 0;
}

// Counts only nodes on which outputs depend. Scalars are constants of formulas, not parameters.
Size SizeOf(const Graph& graph) {
  Size size;
  std::set<model::ValueId> counted;
  const std::vector<bool> live = model::LiveNodes(graph);
  for (size_t n = 0; n < graph.nodes.size(); ++n) {
    if (!live[n]) continue;
    const model::Node& node = graph.nodes[n];
    for (size_t i = 0; i < node.inputs.size(); ++i) {
      const model::ValueId input = node.inputs[i];
      if (!graph.is_constant(input) || graph.value(input).type.rank() == 0) continue;
      if (!counted.insert(input).second) continue;
      const bool statistic = node.op == "BatchNormalization" && i >= 3;
      (statistic ? size.statistics : size.parameters) += graph.value(input).type.elements();
    }
    const auto results = static_cast<double>(graph.value(node.outputs[0]).type.elements());
    size.gflop += 1e-9 * results * FlopsPerElement(graph, node);
  }
  return size;
}

std::vector<std::string> OutputTypes(const Graph& graph) {
  std::vector<std::string> types;
  for (const model::ValueId id : graph.outputs) types.push_back(ToString(graph.value(id).type));
  return types;
}

struct Expected {
  const char* name;
  Variant variant;
  int64_t parameters;
  int64_t statistics;
  double gflop;
  const char* output;  // Type of each output.
  int outputs;
  const char* operators;  // Only checked for the papers' networks; "" allows any.
};

constexpr Expected kExpected[] = {
    {"bert", Variant::kPaper, 33'554'432, 0, 4.429, "float32[64,1024]", 9,
     "MatMul 48, Relu 1, Reshape 32, Transpose 32"},
    {"nasrnn", Variant::kPaper, 20'972'032, 0, 0.0419, "float32[1,512]", 1,
     "Add 55, MatMul 80, Mul 20, Relu 10, Sigmoid 25, Tanh 40"},
    {"resnet50", Variant::kPaper, 23'445'504, 0, 7.938, "float32[1,2048,7,7]", 1,
     "Add 16, Conv 52, Relu 52"},
    {"resnext50", Variant::kPaper, 22'911'680, 0, 8.457, "float32[1,2048,7,7]", 1,
     "Add 16, Conv 53, MaxPool 1, Relu 53"},
    {"nasnet", Variant::kPaper, 39'838'528, 0, 30.10, "float32[1,5120,7,7]", 1,
     "Add 90, AveragePool 51, Concat 18, Conv 217, MaxPool 7, Relu 37"},
    {"inception_v3", Variant::kPaper, 21'751'136, 0, 11.42, "float32[1,2048,1,1]", 1,
     "AveragePool 9, Concat 30, Conv 94, MaxPool 5, Relu 94"},
    {"mobilenet_v2", Variant::kPaper, 3'470'784 + 34'176, 34'176, 0.858, "float32[1,1000]", 1,
     "Add 10, AveragePool 1, BatchNormalization 53, Conv 54, Relu 36, Reshape 1"},
    {"squeezenet", Variant::kPaper, 1'231'552, 0, 0.698, "float32[1,1000]", 1,
     "AveragePool 1, Concat 8, Conv 26, Dropout 1, MaxPool 3, Relu 26, Reshape 1"},
    {"vgg19", Variant::kPaper, 143'652'544, 0, 39.26, "float32[1,1000]", 1,
     "Conv 16, Dropout 2, MatMul 3, MaxPool 5, Relu 18, Reshape 3, Transpose 3"},

    // Parameters: 8 of BERT-large's 24 layers; TensorFlow's NASCell; torchvision; Keras for NASNet;
    // timm for MobileOne (5.29 M before its branches are merged).
    {"bert", Variant::kFaithful, 8 * 12'596'224, 0, 13.02, "float32[1,64,1024]", 1, ""},
    {"nasrnn", Variant::kFaithful, (2 * 512 + 1) * 8 * 512, 0, 0.0419, "float32[1,512]", 2, ""},
    {"resnet50", Variant::kFaithful, 25'557'032, 53'120, 8.18, "float32[1,1000]", 1, ""},
    {"resnext50", Variant::kFaithful, 25'028'904, 68'224, 8.46, "float32[1,1000]", 1, ""},
    {"nasnet", Variant::kFaithful, 5'289'978, 36'738, 1.128, "float32[1,1000]", 1, ""},
    {"inception_v3", Variant::kFaithful, 23'834'568, 34'432, 11.43, "float32[1,1000]", 1, ""},
    {"mobilenet_v2", Variant::kFaithful, 3'504'872, 34'112, 0.602, "float32[1,1000]", 1, ""},
    {"mobileone", Variant::kFaithful, 5'293'272, 88'192, 2.104, "float32[1,1000]", 1, ""},
    {"squeezenet", Variant::kFaithful, 1'235'496, 0, 0.698, "float32[1,1000]", 1, ""},
    {"vgg19", Variant::kFaithful, 143'667'240, 0, 39.26, "float32[1,1000]", 1, ""},
};

void PrintTo(const Expected& expected, std::ostream* out) { *out << expected.name; }

class NetworkTest : public ::testing::TestWithParam<Expected> {};

TEST_P(NetworkTest, HasTheKnownSize) {
  const Expected& expected = GetParam();
  ASSERT_OK_AND_ASSIGN(const onnx::Model model,
                       ReadNetwork(expected.name, {.variant = expected.variant}));
  const Graph& graph = model.graph;
  for (const model::Node& node : graph.nodes) EXPECT_FALSE(node.is_opaque()) << node.name;
  for (const model::Value& value : graph.values) EXPECT_TRUE(value.type.is_static()) << value.name;

  const Size size = SizeOf(graph);
  EXPECT_EQ(size.parameters, expected.parameters);
  EXPECT_EQ(size.statistics, expected.statistics);
  EXPECT_NEAR(size.gflop, expected.gflop, 2e-3 * expected.gflop);  // The sources give three digits.
  EXPECT_EQ(static_cast<int>(graph.outputs.size()), expected.outputs);
  EXPECT_THAT(OutputTypes(graph), Each(expected.output));
  if (*expected.operators != '\0') {
    EXPECT_EQ(absl::StrJoin(model.op_counts, ", ", absl::PairFormatter(" ")), expected.operators);
  }
}

INSTANTIATE_TEST_SUITE_P(All, NetworkTest, ::testing::ValuesIn(kExpected), [](const auto& info) {
  const bool paper = info.param.variant == Variant::kPaper;
  return absl::StrCat(info.param.name, paper ? "_paper" : "");
});

TEST(NetworksTest, AllAreExpected) {
  std::set<std::string> names;
  for (const Expected& expected : kExpected) names.insert(expected.name);
  EXPECT_THAT(NetworkNames(), UnorderedElementsAreArray(names));
  names.erase("mobileone");
  EXPECT_THAT(NetworkNames(Variant::kPaper), UnorderedElementsAreArray(names));
}

TEST(NetworksTest, TheBatchMayBeASymbol) {
  for (const std::string name : {"bert", "nasnet", "nasrnn", "squeezenet"}) {
    ASSERT_OK_AND_ASSIGN(const onnx::Model model, ReadNetwork(name, {.batch = "N"}));
    for (const model::ValueId id : model.graph.outputs) {
      EXPECT_EQ(model.graph.value(id).type.dim(0).symbol(), "N") << name;
    }
  }
}

TEST(NetworksTest, BatchNormMayBeAddedWhereThereIsNone) {
  ASSERT_OK_AND_ASSIGN(const onnx::Model model, ReadNetwork("squeezenet", {.batch_norm = true}));
  EXPECT_EQ(model.op_counts.at("BatchNormalization"), model.op_counts.at("Conv"));
}

// The number of elements of `narrow` that differ from those of `wide` by more than rounding to 8
// bits, as in bfloat16, or, near zero, by more than float16's smallest step. Examines every
// `step`-th.
int64_t WronglyRounded(const model::Tensor& wide, const model::Tensor& narrow, int64_t step) {
  int64_t wrong = 0;
  for (int64_t i = 0; i < wide.elements(); i += step) {
    const double number = wide.GetDouble(i);
    const double allowed = std::ldexp(std::fabs(number), -8) + std::ldexp(1, -24);
    // Written so that a NaN counts as wrong.
    if (!(std::fabs(narrow.GetDouble(i) - number) <= allowed)) ++wrong;
  }
  return wrong;
}

// All values get the narrow type, even constants of formulas, and are the same except for rounding.
TEST(NetworksTest, FloatsMayBeNarrow) {
  struct Network {
    const char* name;
    int64_t step;  // Only some of bert's 100 million parameters are examined.
  };
  for (const auto& [name, step] : {Network{"squeezenet", 1}, Network{"bert", 61}}) {
    ASSERT_OK_AND_ASSIGN(const onnx::Model wide, ReadNetwork(name, {}));
    for (const auto& [float_type, dtype] : {std::pair("float16", model::DType::kFloat16),
                                            std::pair("bfloat16", model::DType::kBfloat16)}) {
      SCOPED_TRACE(absl::StrCat(name, " of ", float_type));
      ASSERT_OK_AND_ASSIGN(const onnx::Model narrow, ReadNetwork(name, {.float_type = float_type}));
      ASSERT_EQ(narrow.graph.values.size(), wide.graph.values.size());
      for (size_t i = 0; i < wide.graph.values.size(); ++i) {
        const model::Value& a = wide.graph.values[i];
        const model::Value& b = narrow.graph.values[i];
        if (a.type.dtype != model::DType::kFloat32) continue;
        EXPECT_EQ(b.type.dtype, dtype) << a.name;
        if (!a.constant) continue;
        ASSERT_TRUE(b.constant) << a.name;
        ASSERT_EQ(a.constant->dims(), b.constant->dims()) << a.name;
        EXPECT_EQ(WronglyRounded(*a.constant, *b.constant, step), 0) << a.name;
      }
    }
  }
}

TEST(NetworksTest, OptionsThatANetworkDoesNotHaveAreRefused) {
  EXPECT_FALSE(MakeNetwork("alexnet", {}).has_value());
  EXPECT_FALSE(MakeNetwork("resnet50", {.batch_norm = true}).has_value());
  EXPECT_FALSE(
      MakeNetwork("squeezenet", {.variant = Variant::kPaper, .batch_norm = true}).has_value());
  EXPECT_FALSE(MakeNetwork("bert", {.variant = Variant::kPaper, .batch = "2"}).has_value());
  EXPECT_FALSE(MakeNetwork("mobileone", {.variant = Variant::kPaper}).has_value());
  EXPECT_FALSE(MakeNetwork("bert", {.float_type = "float64"}).has_value());
}

TEST(NetworksTest, WeightsAreTheSameEveryTime) {
  const auto first = MakeNetwork("squeezenet", {}), second = MakeNetwork("squeezenet", {});
  EXPECT_EQ(first->SerializeAsString(), second->SerializeAsString());
}

}  // namespace
}  // namespace quotient::networks
