// What contractions and chains are lowered to: every program of every kind of spec computes what
// the reference does.

#include "core/kernels/cuda/lower.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <variant>
#include <vector>

#include "absl/strings/str_cat.h"
#include "tests/core/kernels/cuda/lower_cases.h"
#include "tests/core/kernels/cuda/way_checks.h"

namespace quotient::kernels::cuda {
namespace {

using ::testing::ElementsAre;

class LowerTest : public ::testing::TestWithParam<LowerCase> {};

TEST_P(LowerTest, EveryProgramAgreesWithTheReference) { ExpectEveryWayAgrees(GetParam().specs()); }

INSTANTIATE_TEST_SUITE_P(Cases, LowerTest, ::testing::ValuesIn(LowerCases()),
                         [](const auto& info) { return info.param.name; });

// The programs of the one kernel that makes `y`.
std::vector<std::string> NamesFor(absl::string_view lines) {
  return ProgramNames(NativeSpecsOf(absl::StrCat(lines, "\noutput y\n")).at(0));
}

// What cuDNN is asked to compute for that kernel.
std::vector<DnnMode> CudnnModesFor(absl::string_view lines) {
  const KernelSpec spec = NativeSpecsOf(absl::StrCat(lines, "\noutput y\n")).at(0);
  std::vector<DnnMode> modes;
  for (const Program& program : Lower(spec, MathPolicy::kTf32)) {
    if (program.name != "dnn") continue;
    for (const DnnNode& node : std::get<DnnGraph>(program.launches.front().what).nodes) {
      modes.push_back(node.mode);
    }
  }
  return modes;
}

TEST(LowerNamesTest, ConvolutionsAreCudnns) {
  constexpr char kConv[] =
      "input x: float32[1,4,6,6]\ninput full: float32[1,8,4,4]\n"
      "const w: float32[8,4,3,3] = random(1)\nconst b: float32[8] = random(2)\n";
  EXPECT_THAT(NamesFor(absl::StrCat(kConv, "y = Conv(x, w)")), ElementsAre("dnn"));
  EXPECT_THAT(NamesFor(absl::StrCat(kConv, "y = Conv(x, w, b)")), ElementsAre("dnn"));
  EXPECT_THAT(NamesFor(absl::StrCat(kConv, "c = Conv(x, w, b)\ns = Add(full, c)\ny = Relu(s)")),
              ElementsAre("dnn", "dnn+chain"));
  EXPECT_THAT(NamesFor(absl::StrCat(kConv, "c = Conv(x, w)\ny = HardSwish(c)")),
              ElementsAre("dnn", "dnn+chain"));
  EXPECT_THAT(NamesFor(absl::StrCat(kConv, "c = Conv(x, w, b)\ny = LeakyRelu(c) {alpha=0.1}")),
              ElementsAre("dnn", "dnn+chain"));
}

TEST(LowerNamesTest, ConvolutionsOfSinglePixelsAreProductsToo) {
  constexpr char kConv[] =
      "input x: float32[1,4,6,6]\nconst w: float32[8,4,1,1] = random(1)\n"
      "const b: float32[8] = random(2)\n";
  const auto names = [&](absl::string_view node) { return NamesFor(absl::StrCat(kConv, node)); };
  EXPECT_THAT(names("y = Conv(x, w)"), ElementsAre("dnn", "blas"));
  EXPECT_THAT(names("c = Conv(x, w, b)\ny = Relu(c)"), ElementsAre("dnn", "dnn+chain", "blas"));
  EXPECT_THAT(names("c = Conv(x, w, b)\ny = HardSwish(c)"),
              ElementsAre("dnn", "dnn+chain", "blas+chain"));
  EXPECT_THAT(names("y = Conv(x, w) {strides=[2,2]}"), ElementsAre("dnn"));
  EXPECT_THAT(names("y = Conv(x, w) {pads=[1,1,1,1]}"), ElementsAre("dnn"));
}

TEST(LowerNamesTest, BiasesOfGroupedConvolutionsAreOursToo) {
  constexpr char kConv[] =
      "input x: float32[1,4,6,6]\nconst w: float32[4,1,3,3] = random(1)\n"
      "const b: float32[4] = random(2)\n";
  const auto names = [&](absl::string_view node) { return NamesFor(absl::StrCat(kConv, node)); };
  EXPECT_THAT(names("y = Conv(x, w, b) {group=4}"), ElementsAre("dnn", "bare+chain"));
  EXPECT_THAT(names("c = Conv(x, w, b) {group=4}\ny = Relu(c)"),
              ElementsAre("dnn", "dnn+chain", "bare+chain"));
  EXPECT_THAT(names("y = Conv(x, w) {group=4}"), ElementsAre("dnn"));
}

TEST(LowerNamesTest, EluAndSwishAreCudnnsWithoutAFactor) {
  constexpr char kConv[] =
      "input x: float32[1,4,6,6]\nconst w: float32[8,4,3,3] = random(1)\nc = Conv(x, w)\n";
  for (const char* op : {"Elu", "Swish"}) {
    const std::string call = absl::StrCat(kConv, "y = ", op, "(c)");
    EXPECT_THAT(NamesFor(call), ElementsAre("dnn", "dnn+chain")) << op;
    EXPECT_THAT(NamesFor(call + " {alpha=0.5}"), ElementsAre("dnn+chain")) << op;
  }
}

TEST(LowerNamesTest, TransposedConvolutionsAreTunedOnlyAlone) {
  constexpr char kConv[] =
      "input x: float32[1,5,4,3]\nconst w: float32[5,6,2,2] = random(1)\n"
      "const b: float32[6] = random(2)\n";
  EXPECT_THAT(NamesFor(absl::StrCat(kConv, "y = ConvTranspose(x, w)")), ElementsAre("dnn"));
  EXPECT_THAT(NamesFor(absl::StrCat(kConv, "y = ConvTranspose(x, w, b)")),
              ElementsAre("dnn", "dnn+chain"));
}

TEST(LowerNamesTest, ProductsAreCublassAndCudnns) {
  constexpr char kMatMul[] =
      "input x: float32[5,6]\ninput full: float32[5,7]\nconst w: float32[6,7] = random(1)\n"
      "c = MatMul(x, w)\n";
  EXPECT_THAT(NamesFor(absl::StrCat(kMatMul, "s = Add(c, full)\ny = Relu(s)")),
              ElementsAre("blas", "dnn"));
  EXPECT_THAT(NamesFor(absl::StrCat(kMatMul, "y = Gelu(c)")), ElementsAre("blas+chain", "dnn"));
  EXPECT_THAT(NamesFor(absl::StrCat(kMatMul, "y = HardSwish(c)")),
              ElementsAre("blas+chain", "dnn"));
}

TEST(LowerNamesTest, FactorsOfGemmsAreCublass) {
  constexpr char kGemm[] =
      "input x: float16[5,6]\ninput full: float16[5,7]\nconst w: float16[6,7] = random(1)\n"
      "const b: float16[7] = random(2)\n";
  const auto names = [&](absl::string_view node) { return NamesFor(absl::StrCat(kGemm, node)); };
  EXPECT_THAT(names("y = Gemm(x, w) {alpha=0.5}"), ElementsAre("blas"));
  EXPECT_THAT(names("y = Gemm(x, w, b) {alpha=0.5}"), ElementsAre("blas"));
  EXPECT_THAT(names("y = Gemm(x, w, full) {alpha=0.5, beta=0.25}"), ElementsAre("blas"));
  EXPECT_THAT(names("c = Gemm(x, w, b) {alpha=0.5}\ny = Relu(c)"), ElementsAre("blas"));
  EXPECT_THAT(names("y = Gemm(x, w, b) {beta=0.25}"), ElementsAre("blas+chain"));
}

TEST(LowerNamesTest, ElementwiseChainsAreOursAndCudnns) {
  constexpr char kInputs[] =
      "input x: float16[2,5,7,6]\ninput z: float16[2,5,7,6]\ninput channel: float16[5,1,1]\n"
      "input row: float16[6]\n";
  const auto names = [&](absl::string_view node) { return NamesFor(absl::StrCat(kInputs, node)); };
  EXPECT_THAT(names("a = Add(x, z)\ny = Relu(a)"), ElementsAre("chain", "dnn"));
  EXPECT_THAT(names("a = Add(channel, x)\ny = Relu(a)"), ElementsAre("chain", "dnn"));
  EXPECT_THAT(names("a = Sub(row, x)\ny = Relu(a)"), ElementsAre("chain", "dnn"));
  EXPECT_THAT(names("y = Add(x, z)"), ElementsAre("chain"));
  EXPECT_THAT(names("a = Add(x, z)\ny = Pow(a, x)"), ElementsAre("chain"));
  EXPECT_THAT(names("a = Add(x, row)\ny = Mul(a, channel)"), ElementsAre("chain"));
}

// An infinity stays one where a Clip has no bound.
TEST(LowerNamesTest, CudnnsClipsHaveTheBoundsThatThereAre) {
  for (const char* type : {"float32", "float16", "bfloat16"}) {
    const auto modes = [&](absl::string_view attributes) {
      return CudnnModesFor(absl::StrCat("input x: ", type, "[4,8]\ninput z: ", type,
                                        "[4,8]\na = Add(x, z)\ny = Clip(a) ", attributes));
    };
    using enum DnnMode;
    EXPECT_THAT(modes("{min=0.0, max=6.0}"), ElementsAre(kAdd, kRelu, kMin)) << type;
    EXPECT_THAT(modes("{min=-1.0, max=6.0}"), ElementsAre(kAdd, kMax, kMin)) << type;
    EXPECT_THAT(modes("{min=-1.0}"), ElementsAre(kAdd, kMax)) << type;
    EXPECT_THAT(modes("{max=6.0}"), ElementsAre(kAdd, kMin)) << type;
    EXPECT_THAT(modes(""), ElementsAre(kAdd, kIdentity)) << type;
  }
}

}  // namespace
}  // namespace quotient::kernels::cuda
