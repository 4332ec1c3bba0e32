// What ONNX Runtime fuses, what it does not, and the reason that is told: on small models, by the
// library that is installed. Where a reason is told, there is also a model without it.

#include "core/optimize/explainer.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <map>
#include <memory>
#include <optional>
#include <ostream>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "core/explain/explain.h"
#include "core/optimize/file_cost.h"
#include "core/timing/memory_store.h"
#include "tests/core/onnx/onnx_text.h"
#include "tests/support/status_matchers.h"

namespace quotient::optimize {
namespace {

using quotient::testing::IsOk;
using ::testing::ElementsAre;
using ::testing::IsEmpty;

// Constants by name: their shapes. All elements are `value`.
struct Constant {
  std::vector<int64_t> dims;
  float value = 0.25F;
};
using Constants = std::map<std::string, Constant>;

std::string ModelOf(const std::string& text, const Constants& constants, int opset) {
  ::onnx::ModelProto model = quotient::testing::ModelAtOpset(opset, "g " + text);
  // As those of most models, nodes have names.
  for (::onnx::NodeProto& node : *model.mutable_graph()->mutable_node()) {
    node.set_name("node of " + node.output(0));
  }
  for (const auto& [name, constant] : constants) {
    ::onnx::TensorProto& tensor = *model.mutable_graph()->add_initializer();
    tensor.set_name(name);
    tensor.set_data_type(::onnx::TensorProto::FLOAT);
    int64_t elements = 1;
    for (const int64_t dim : constant.dims) {
      tensor.add_dims(dim);
      elements *= dim;
    }
    for (int64_t i = 0; i < elements; ++i) {
      // No two channels are alike, so that nothing folds to a number.
      tensor.add_float_data(constant.value * (elements == 1 ? 1.0F : 1.0F + 0.01F * (i % 97)));
    }
  }
  return model.SerializeAsString();
}

class ExplainerTest : public ::testing::Test {
 protected:
  // Kernels are told apart without being timed.
  report::Explanation Explain(const std::string& text, const Constants& constants, int opset = 17) {
    const std::string bytes = ModelOf(text, constants, opset);
    absl::StatusOr<Prepared> prepared = Prepare({.name = "m.onnx", .model = bytes}, {}, 1, {});
    EXPECT_THAT(prepared.status(), IsOk()) << text;
    const auto device = devices_.Get("onnxruntime", 1);
    EXPECT_THAT(device.status(), IsOk());
    const std::optional<cost::GraphCost> cost =
        CostOfFile(**device, {.model = bytes, .external_data = {}, .owner = nullptr}, *prepared,
                   NewFileCostContext(*prepared, /*seed=*/1),
                   [] { return StopCondition(nullptr, Clock::System(), 0); });
    EXPECT_TRUE(cost.has_value()) << text;
    if (!cost.has_value()) return {};
    return explain::Explain({prepared->cut.graph, prepared->graph, *cost}, nullptr, {},
                            std::nullopt);
  }

  // "Mul behind Conv: operand_order"
  std::vector<std::string> Missed(const std::string& text, const Constants& constants,
                                  int opset = 17) {
    std::vector<std::string> missed;
    for (const report::MissedFusion& row : Explain(text, constants, opset).missed) {
      missed.push_back(absl::StrCat(row.what, ": ", row.reason));
    }
    return missed;
  }

  // "Conv + Relu -> Conv (nchwc)"
  std::vector<std::string> Fused(const std::string& text, const Constants& constants,
                                 int opset = 17) {
    std::vector<std::string> fused;
    for (const report::FusedKernels& row : Explain(text, constants, opset).fused) {
      fused.push_back(absl::StrCat(row.operators, " -> ", row.kernel));
    }
    return fused;
  }

  const std::unique_ptr<timing::TimingStore> store_ = timing::NewMemoryStore();
  timing::Lane lane_;
  Devices devices_{{.store = store_.get(), .lane = &lane_}};
};

constexpr char kImage[] = "(float[1,16,8,8] x) => (float[1,32,8,8] y) { ";
constexpr char kConv[] = "c = Conv<pads=[1,1,1,1]>(x, w) ";
const Constant kWeights = {{32, 16, 3, 3}};

// A Conv of 16 channels to 32, and what is behind it.
std::string BehindConv(const std::string& rest) { return absl::StrCat(kImage, kConv, rest, " }"); }

TEST_F(ExplainerTest, AConstantBehindAConvHasToBeTheSecondOperand) {
  const Constants constants = {{"w", kWeights}, {"k", {{32, 1, 1}}}};
  EXPECT_THAT(Missed(BehindConv("y = Mul(c, k)"), constants), IsEmpty());
  EXPECT_THAT(Missed(BehindConv("y = Add(c, k)"), constants), IsEmpty());
  EXPECT_THAT(Missed(BehindConv("y = Mul(k, c)"), constants),
              ElementsAre("Mul behind Conv: operand_order"));
  EXPECT_THAT(Missed(BehindConv("y = Add(k, c)"), constants),
              ElementsAre("Add behind Conv: operand_order"));
  // The factor is a Conv of single channels then, which takes the Relu.
  EXPECT_THAT(Missed(BehindConv("m = Mul(k, c) y = Relu(m)"), constants),
              ElementsAre("Mul behind Conv: operand_order"));
}

TEST_F(ExplainerTest, AConstantBehindAConvIsOneNumberForEachChannel) {
  const auto with = [](std::vector<int64_t> dims) {
    return Constants{{"w", kWeights}, {"k", {std::move(dims)}}};
  };
  EXPECT_THAT(Missed(BehindConv("y = Mul(c, k)"), with({1, 32, 1, 1})), IsEmpty());
  EXPECT_THAT(Missed(BehindConv("y = Mul(c, k)"), with({})), IsEmpty());
  EXPECT_THAT(Missed(BehindConv("y = Mul(c, k)"), with({1, 1, 1})),
              ElementsAre("Mul behind Conv: constant_shape"));
  EXPECT_THAT(Missed(BehindConv("y = Mul(c, k)"), with({8})),
              ElementsAre("Mul behind Conv: constant_shape"));
  EXPECT_THAT(Missed(BehindConv("y = Add(c, k)"), with({})),
              ElementsAre("Add behind Conv: constant_shape"));
  EXPECT_THAT(Missed(BehindConv("y = Sub(c, k)"), with({32, 1, 1})),
              ElementsAre("Sub behind Conv: operator"));
  EXPECT_THAT(Missed(BehindConv("y = Div(c, k)"), with({32, 1, 1})),
              ElementsAre("Div behind Conv: operator"));
}

TEST_F(ExplainerTest, AValueThatIsUsedElsewhereIsComputed) {
  const Constants constants = {{"w", kWeights}, {"k", {{32, 1, 1}}}};
  const std::string two = "(float[1,16,8,8] x) => (float[1,32,8,8] y, float[1,32,8,8] z) { ";
  EXPECT_THAT(Missed(absl::StrCat(two, kConv, "y = Relu(c) z = Neg(c) }"), constants),
              ElementsAre("Relu behind Conv: other_reader"));
  EXPECT_THAT(Missed("(float[1,16,8,8] x) => (float[1,32,8,8] y, float[1,32,8,8] c) { " +
                         std::string(kConv) + "y = Mul(c, k) }",
                     constants),
              ElementsAre("Mul behind Conv: graph_output"));
}

TEST_F(ExplainerTest, ConvolutionsTakeSomeActivations) {
  const Constants constants = {{"w", kWeights}, {"k", {{32, 1, 1}}}};
  for (const char* const op : {"Relu", "Sigmoid", "Tanh", "LeakyRelu", "HardSigmoid"}) {
    EXPECT_THAT(Missed(BehindConv(absl::StrCat("y = ", op, "(c)")), constants), IsEmpty()) << op;
  }
  for (const char* const op : {"Elu", "Selu", "Softplus", "Softsign", "ThresholdedRelu", "Celu"}) {
    EXPECT_THAT(Missed(BehindConv(absl::StrCat("y = ", op, "(c)")), constants),
                ElementsAre(absl::StrCat(op, " behind Conv: no_kernel")));
  }
  EXPECT_THAT(Missed(BehindConv("y = PRelu(c, k)"), constants),
              ElementsAre("PRelu behind Conv: no_kernel"));
  EXPECT_THAT(Missed(BehindConv("y = Gelu(c)"), constants, 20),
              ElementsAre("Gelu behind Conv: no_kernel"));
}

TEST_F(ExplainerTest, AHardSwishIsTakenByABlockedConvAndInFrontOfAnotherNode) {
  const std::string head = absl::StrCat(kImage, kConv);
  const Constants constants = {{"w", kWeights}};
  const std::string sigmoid = "s = HardSigmoid<alpha=0.16666667, beta=0.5>(c) ";
  EXPECT_THAT(Missed(head + sigmoid + "h = Mul(c, s) y = Neg(h) }", constants), IsEmpty());
  EXPECT_THAT(Missed(head + sigmoid + "y = Mul(c, s) }", constants),
              ElementsAre("HardSwish behind Conv: graph_output"));
  EXPECT_THAT(Missed(head + "s = HardSigmoid(c) h = Mul(c, s) y = Neg(h) }", constants),
              ElementsAre("HardSwish behind Conv: attribute"));
  EXPECT_THAT(Missed(head + "y = HardSwish(c) }", constants),
              ElementsAre("HardSwish behind Conv: graph_output"));
}

TEST_F(ExplainerTest, ASummandIsTakenInTheLayoutOfTheConv) {
  const Constants constants = {{"w", kWeights}, {"v", {{32, 32, 3, 3}}}};
  const std::string two =
      "(float[1,16,8,8] x, float[1,32,8,8] z, float[1,32,1,1] t) => "
      "(float[1,32,8,8] y) { ";
  EXPECT_THAT(
      Missed(absl::StrCat(two, kConv, "d = Conv<pads=[1,1,1,1]>(z, v) s = Add(c, d) y = Relu(s) }"),
             constants),
      IsEmpty());
  EXPECT_THAT(Missed(absl::StrCat(two, kConv, "y = Add(c, z) }"), constants),
              ElementsAre("Add behind Conv: layout"));
  EXPECT_THAT(Missed(absl::StrCat(two, kConv, "y = Add(c, t) }"), constants),
              ElementsAre("Add behind Conv: operand_shape"));
  EXPECT_THAT(Missed(absl::StrCat(two, kConv, "y = Mul(c, t) }"), constants),
              ElementsAre("Mul behind Conv: no_kernel"));
}

TEST_F(ExplainerTest, ANormalizationNeedsConstants) {
  const Constants all = {
      {"w", kWeights}, {"s", {{32}}}, {"b", {{32}}}, {"m", {{32}}}, {"v", {{32}, 1}}};
  EXPECT_THAT(Missed(BehindConv("y = BatchNormalization(c, s, b, m, v)"), all), IsEmpty());
  EXPECT_THAT(Fused(BehindConv("n = BatchNormalization(c, s, b, m, v) y = Relu(n)"), all),
              ElementsAre("Conv + BatchNormalization + Relu -> Conv (nchwc)"));
  Constants some = all;
  some.erase("s");
  EXPECT_THAT(Missed("(float[1,16,8,8] x, float[32] s) => (float[1,32,8,8] y) { " +
                         std::string(kConv) + "y = BatchNormalization(c, s, b, m, v) }",
                     some),
              ElementsAre("BatchNormalization behind Conv: not_constant"));
}

// What Quotient folds, ONNX Runtime may compute in each run: CastLike becomes a Cast after it has
// folded constants.
TEST_F(ExplainerTest, ConstantsThatAreComputedAreNone) {
  const std::string head = "(float[1,16,8,8] x) => (float[1,32,8,8] y) { b = CastLike(k, x) ";
  const Constants constants = {
      {"w", kWeights}, {"k", {{32}}}, {"s", {{32}}}, {"m", {{32}}}, {"v", {{32}, 1}}};
  EXPECT_THAT(Missed(absl::StrCat(head, "y = Conv<pads=[1,1,1,1]>(x, w, b) }"), constants),
              ElementsAre("Conv not in the blocked layout: not_constant"));
  EXPECT_THAT(
      Missed(absl::StrCat(head, kConv, "y = BatchNormalization(c, s, b, m, v) }"), constants),
      ElementsAre("BatchNormalization behind Conv: not_constant"));
}

TEST_F(ExplainerTest, NothingIsTakenInFrontOfAConv) {
  const Constants constants = {{"w", kWeights}, {"k", {{16, 1, 1}}}};
  EXPECT_THAT(
      Missed(absl::StrCat(kImage, "m = Mul(x, k) y = Conv<pads=[1,1,1,1]>(m, w) }"), constants),
      ElementsAre("Mul in front of Conv: in_front"));
  EXPECT_THAT(
      Missed(absl::StrCat(kImage, "m = Add(x, k) y = Conv<pads=[1,1,1,1]>(m, w) }"), constants),
      ElementsAre("Add in front of Conv: in_front"));
}

TEST_F(ExplainerTest, AProductAndItsBiasAreAGemm) {
  const auto with = [](std::vector<int64_t> dims) {
    return Constants{{"w", {{16, 24}}}, {"k", {std::move(dims)}}};
  };
  const std::string flat = "(float[4,16] x) => (float[4,24] y) { m = MatMul(x, w) y = Add(m, k) }";
  const std::string deep =
      "(float[2,4,16] x) => (float[2,4,24] y) { m = MatMul(x, w) y = Add(k, m) }";
  EXPECT_THAT(Missed(flat, with({1, 24})), IsEmpty());
  EXPECT_THAT(Fused(flat, with({24})), ElementsAre("MatMul + Add -> Gemm"));
  EXPECT_THAT(Missed(deep, with({24})), IsEmpty());
  EXPECT_THAT(Fused(deep, with({24})), ElementsAre("MatMul + Add -> Gemm"));
  EXPECT_THAT(Missed(flat, with({})), ElementsAre("Add behind MatMul: constant_shape"));
  EXPECT_THAT(Missed(deep, with({1, 24})), ElementsAre("Add behind MatMul: constant_shape"));
  EXPECT_THAT(Missed("(float[B,4,16] x) => (float[B,4,24] y) { m = MatMul(x, w) y = Add(m, k) }",
                     with({24})),
              ElementsAre("Add behind MatMul: open_shape"));
  EXPECT_THAT(Missed("(float[2,4,16] x, float[2,16,24] v) => (float[2,4,24] y) "
                     "{ m = MatMul(x, v) y = Add(m, k) }",
                     {{"k", {{24}}}}),
              ElementsAre("Add behind MatMul: weights_shape"));
}

TEST_F(ExplainerTest, AFactorOfAProductIsASingleNumber) {
  const std::string model = "(float[4,16] x) => (float[4,24] y) { m = MatMul(x, w) y = Mul(m, k) }";
  EXPECT_THAT(Missed(model, {{"w", {{16, 24}}}, {"k", {{1}}}}), IsEmpty());
  EXPECT_THAT(Missed(model, {{"w", {{16, 24}}}, {"k", {{24}}}}),
              ElementsAre("Mul behind MatMul: constant_shape"));
  EXPECT_THAT(
      Missed("(float[4,16] x, float k) => (float[4,24] y) { m = MatMul(x, w) y = Mul(m, k) }",
             {{"w", {{16, 24}}}}),
      ElementsAre("Mul behind MatMul: not_constant"));
}

TEST_F(ExplainerTest, AnActivationIsTakenByAGemmOfMatrices) {
  const Constants constants = {{"w", {{16, 24}}}, {"k", {{24}}}};
  const std::string flat = "(float[4,16] x) => (float[4,24] y) { m = MatMul(x, w) ";
  EXPECT_THAT(Missed(flat + "b = Add(m, k) y = Relu(b) }", constants), IsEmpty());
  EXPECT_THAT(Missed(flat + "y = Relu(m) }", constants),
              ElementsAre("Relu behind MatMul: no_bias"));
  EXPECT_THAT(Missed("(float[2,4,16] x) => (float[2,4,24] y) "
                     "{ m = MatMul(x, w) b = Add(m, k) y = Relu(b) }",
                     constants),
              ElementsAre("Relu behind MatMul: rank"));
  EXPECT_THAT(Missed(flat + "b = Add(m, k) y = Erf(b) }", constants),
              ElementsAre("Erf behind MatMul: no_kernel"));
}

TEST_F(ExplainerTest, AMatMulTakesATransposeOfTheLastDimensions) {
  const auto model = [](const std::string& z, const std::string& perm) {
    return absl::StrCat("(float[2,3,4,5] x, float[", z, "] z) => (float[2,3,4,4] y) ",
                        "{ t = Transpose<perm=[", perm, "]>(z) y = MatMul(x, t) }");
  };
  EXPECT_THAT(Missed(model("2,3,4,5", "0,1,3,2"), {}), IsEmpty());
  EXPECT_THAT(Missed(model("2,4,3,5", "0,2,3,1"), {}),
              ElementsAre("Transpose in front of MatMul: axes"));
}

TEST_F(ExplainerTest, AGeluIsRecognizedInSomeSpellings) {
  const std::string head =
      "(float[2,4,8] x) => (float[2,4,8] y) { u = Div(x, r) f = Erf(u) "
      "g = Add(f, one) ";
  const Constants numbers = {
      {"r", {{}, 1.41421354F}}, {"one", {{}, 1}}, {"half", {{}, 0.5F}}, {"two", {{}, 2}}};
  EXPECT_THAT(Missed(head + "p = Mul(x, g) y = Mul(p, half) }", numbers), IsEmpty());
  EXPECT_THAT(Missed(head + "h = Mul(x, half) y = Mul(h, g) }", numbers), IsEmpty());
  EXPECT_THAT(Missed(head + "h = Mul(g, half) y = Mul(x, h) }", numbers),
              ElementsAre("Gelu, written out: operand_order"));
  EXPECT_THAT(Missed(head + "p = Mul(x, g) y = Div(p, two) }", numbers),
              ElementsAre("Gelu, written out: operator"));
  Constants deep = numbers;
  deep["half"] = {{1, 1, 1}, 0.5F};
  EXPECT_THAT(Missed(head + "p = Mul(x, g) y = Mul(p, half) }", deep),
              ElementsAre("Gelu, written out: constant_shape"));
  EXPECT_THAT(Missed("(float[2,4,8] x) => (float[2,4,8] y, float[2,4,8] g) { u = Div(x, r) "
                     "f = Erf(u) g = Add(f, one) p = Mul(x, g) y = Mul(p, half) }",
                     numbers),
              ElementsAre("Gelu, written out: graph_output"));
}

TEST_F(ExplainerTest, ANormalizationIsRecognizedInSomeSpellings) {
  const Constants numbers = {{"two", {{}, 2}}, {"eps", {{}, 1e-5F}}, {"g", {{8}}}, {"b", {{8}}}};
  const auto model = [](const std::string& axis, const std::string& square,
                        const std::string& rest) {
    return absl::StrCat("(float[2,4,8] x) => (float[2,4,8] y) { m = ReduceMean<axes=[", axis,
                        "]>(x) d = Sub(x, m) p = ", square, " v = ReduceMean<axes=[", axis,
                        "]>(p) e = Add(v, eps) s = Sqrt(e) ", rest, " }");
  };
  const std::string divide = "n = Div(d, s) k = Mul(n, g) y = Add(k, b)";
  EXPECT_THAT(Missed(model("-1", "Pow(d, two)", divide), numbers), IsEmpty());
  EXPECT_THAT(Missed(model("-1", "Mul(d, d)", divide), numbers),
              ElementsAre("LayerNormalization, written out: operator"));
  EXPECT_THAT(Missed(model("1", "Pow(d, two)", divide), numbers),
              ElementsAre("LayerNormalization, written out: axis"));
  EXPECT_THAT(Missed(model("-1", "Pow(d, two)",
                           "r = Reciprocal(s) n = Mul(d, r) k = Mul(n, g) y = Add(k, b)"),
                     numbers),
              ElementsAre("LayerNormalization, written out: operator"));
}

TEST_F(ExplainerTest, ASumIsTakenByANormalizationOfThreeDimensions) {
  const Constants constants = {{"g", {{8}}}, {"b", {{8}}}};
  const auto model = [](const std::string& x, const std::string& z, const std::string& more) {
    return absl::StrCat("(float[", x, "] x, float[", z, "] z) => (float[", x, "] y", more,
                        ") { s = Add(x, z) y = LayerNormalization(s, g, b) }");
  };
  EXPECT_THAT(Missed(model("2,4,8", "2,4,8", ""), constants), IsEmpty());
  EXPECT_THAT(Missed(model("B,4,8", "B,4,8", ""), constants), IsEmpty());
  EXPECT_THAT(Missed(model("4,8", "4,8", ""), constants),
              ElementsAre("Add in front of LayerNormalization: rank"));
  EXPECT_THAT(Missed(model("2,4,8", "1,4,8", ""), constants),
              ElementsAre("Add in front of LayerNormalization: operand_shape"));
  EXPECT_THAT(Missed(model("2,4,8", "2,4,8", ", float[2,4,8] s"), constants),
              ElementsAre("Add in front of LayerNormalization: graph_output"));
}

TEST_F(ExplainerTest, BlocksNeedCertainNumbersOfChannels) {
  const auto model = [](int64_t read, int64_t made, int64_t groups) {
    return absl::StrCat("(float[1,", read, ",8,8] x) => (float[1,", made,
                        ",8,8] y) { y = Conv<pads=[1,1,1,1], group=", groups, ">(x, w) }");
  };
  const auto missed = [&](int64_t read, int64_t made, int64_t groups) {
    return Missed(model(read, made, groups), {{"w", {{made, read / groups, 3, 3}}}});
  };
  for (const int64_t read : {3, 16, 20}) EXPECT_THAT(missed(read, 24, 1), IsEmpty()) << read;
  EXPECT_THAT(missed(18, 24, 1), ElementsAre("Conv not in the blocked layout: channels"));
  EXPECT_THAT(missed(24, 24, 24), IsEmpty());
  EXPECT_THAT(missed(22, 22, 22), ElementsAre("Conv not in the blocked layout: channels"));
  EXPECT_THAT(missed(16, 32, 16), ElementsAre("Conv not in the blocked layout: groups"));
  EXPECT_THAT(missed(64, 64, 4), IsEmpty());
  EXPECT_THAT(missed(32, 32, 8), ElementsAre("Conv not in the blocked layout: groups"));
  EXPECT_THAT(Missed("(float[1,16,32] x) => (float[1,24,32] y) { y = Conv<pads=[1,1]>(x, w) }",
                     {{"w", {{24, 16, 3}}}}),
              ElementsAre("Conv not in the blocked layout: rank"));
  EXPECT_THAT(Missed("(float[1,16,8,8] x, float[16,16,1,1] w) => (float[1,16,8,8] y) "
                     "{ y = Conv(x, w) }",
                     {}),
              ElementsAre("Conv not in the blocked layout: not_constant"));
}

TEST_F(ExplainerTest, AMeanLeavesTheBlockedLayout) {
  const std::string head = "(float[1,16,8,8] x) => (float[1,32,1,1] y) { ";
  EXPECT_THAT(Missed(absl::StrCat(head, kConv, "y = GlobalAveragePool(c) }"), {{"w", kWeights}}),
              IsEmpty());
  EXPECT_THAT(
      Missed(absl::StrCat(head, kConv, "y = ReduceMean<axes=[2,3]>(c) }"), {{"w", kWeights}}),
      ElementsAre("ReduceMean not in the blocked layout: operator"));
  EXPECT_THAT(Missed("(float[1,16,8,8] x) => (float[1,20,1,1] y) { " + std::string(kConv) +
                         "y = GlobalAveragePool(c) }",
                     {{"w", {{20, 16, 3, 3}}}}),
              ElementsAre("GlobalAveragePool not in the blocked layout: channels"));
}

}  // namespace
}  // namespace quotient::optimize
