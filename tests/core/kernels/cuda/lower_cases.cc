#include "tests/core/kernels/cuda/lower_cases.h"

#include <gtest/gtest.h>

#include <utility>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_replace.h"
#include "core/kernels/layout.h"
#include "tests/core/kernels/cuda/way_checks.h"

namespace quotient::kernels::cuda {
namespace {

constexpr const char* kTypes[] = {"float32", "float16", "bfloat16"};

// A contraction that makes `c` of type FLOAT[`dims`], whose channels are one of its axes.
struct Contraction {
  const char* lines;
  const char* dims;
  const char* channel_dims;  // of what spreads over the others
};

constexpr Contraction kConv = {R"(
input x: FLOAT[2,6,7,6]
const w: FLOAT[10,6,3,3] = random(1)
c = Conv(x, w) {pads=[1,1,1,1]}
)",
                               "2,10,7,6", "10,1,1"};
constexpr Contraction kConvBias = {R"(
input x: FLOAT[2,6,7,6]
const w: FLOAT[10,6,3,3] = random(1)
const b: FLOAT[10] = random(2)
c = Conv(x, w, b) {pads=[1,0,1,0], strides=[2,1]}
)",
                                   "2,10,4,4", "10,1,1"};
constexpr Contraction kPointwise = {R"(
input x: FLOAT[2,6,5,4]
const w: FLOAT[10,6,1,1] = random(1)
const b: FLOAT[10] = random(2)
c = Conv(x, w, b)
)",
                                    "2,10,5,4", "10,1,1"};
constexpr Contraction kDepthwise = {R"(
input x: FLOAT[2,6,7,6]
const w: FLOAT[6,1,3,3] = random(1)
const b: FLOAT[6] = random(2)
c = Conv(x, w, b) {pads=[1,1,1,1], group=6}
)",
                                    "2,6,7,6", "6,1,1"};
constexpr Contraction kMatMul = {R"(
input x: FLOAT[2,5,12]
const w: FLOAT[12,9] = random(1)
c = MatMul(x, w)
)",
                                 "2,5,9", "9"};
constexpr Contraction kGemm = {R"(
input x: FLOAT[12,7]
input w: FLOAT[9,12]
const b: FLOAT[9] = random(2)
c = Gemm(x, w, b) {transA=1, transB=1}
)",
                               "7,9", "9"};

// Nodes that make `y` of `c` with: `full` and `channel`, which are computed, and `fixed_full`,
// `fixed_channel` and `scalar`, which are constant.
constexpr const char* kEpilogues[] = {
    "y = Relu(c)",
    "y = Add(c, fixed_channel)",
    "s = Add(channel, c)\ny = Relu(s)",
    "y = Add(full, c)",
    "s = Add(c, full)\ny = Relu(s)",
    "s = Add(full, c)\ny = Relu(s)",
    "s = Add(c, fixed_full)\ny = Relu(s)",
    "s = Add(c, fixed_channel)\nt = Add(full, s)\ny = Relu(t)",
    "s = Add(c, full)\nt = Add(s, fixed_full)\nu = Add(t, channel)\ny = Relu(u)",
    "r = Relu(c)\ny = Add(r, full)",
    "s = Mul(c, scalar)\ny = Add(s, full)",
    "s = Add(scalar, c)\ny = Relu(s)",
    "y = HardSwish(c)",
    "s = Add(c, full)\nh = HardSwish(s)\ny = Mul(h, channel)",
    "r = LeakyRelu(c) {alpha=0.25}\ny = Sub(full, r)",
    "y = Clip(c) {min=-0.25, max=0.5}",
    "y = Clip(c) {min=0.125}",
    "s = Sub(full, c)\ny = HardSwish(s)",
    "s = Sub(fixed_channel, c)\ny = Sub(s, full)",
    "s = Sub(scalar, c)\ny = Sub(c2, s)",
    "y = Div(c, channel)",
    "d = Div(c, full)\ny = Max(fixed_channel, d)",
    "y = Min(scalar, c)",
    "a = Abs(c)\ny = Sqrt(a)",
    "e = Exp(c)\ny = Neg(e)",
    "s = Sigmoid(c)\ny = Tanh(s)",
    "y = Gelu(c)",
    "y = Elu(c)",
    "y = Elu(c) {alpha=0.5}",
    "y = Swish(c)",
    "m = Mish(c)\ny = Softplus(m)",
    "y = Gelu(c) {approximate=\"tanh\"}",
};

std::string BodyOf(const Contraction& contraction, absl::string_view epilogue,
                   absl::string_view type) {
  const std::string body = absl::StrCat(contraction.lines, R"(
input full: FLOAT[DIMS]
input c2: FLOAT[DIMS]
input channel: FLOAT[CHANNEL]
const fixed_full: FLOAT[DIMS] = random(11)
const fixed_channel: FLOAT[CHANNEL] = random(12)
const scalar: FLOAT[] = [0.75]
)",
                                        epilogue, "\noutput ", epilogue.empty() ? "c\n" : "y\n");
  return absl::StrReplaceAll(
      body, {{"FLOAT", type}, {"DIMS", contraction.dims}, {"CHANNEL", contraction.channel_dims}});
}

// The one kernel of the graph, with all that stands behind the contraction fused.
void Add(const Contraction& contraction, absl::string_view epilogue,
         std::vector<KernelSpec>& specs) {
  for (const char* type : kTypes) {
    const std::string body = BodyOf(contraction, epilogue, type);
    const std::vector<KernelSpec> found = NativeSpecsOf(body);
    EXPECT_EQ(found.size(), 1u) << body;
    specs.insert(specs.end(), found.begin(), found.end());
  }
}

std::vector<KernelSpec> WithEveryEpilogue(const Contraction& contraction) {
  std::vector<KernelSpec> specs;
  Add(contraction, "", specs);
  for (const char* epilogue : kEpilogues) Add(contraction, epilogue, specs);
  return specs;
}

std::vector<KernelSpec> BatchNormalizations() {
  constexpr char kNormalization[] = R"(
const scale: FLOAT[COUNT] = random(5)
const shift: FLOAT[COUNT] = random(6)
const mean: FLOAT[COUNT] = random(7)
const variance: FLOAT[COUNT] = random(8)
n = BatchNormalization(c, scale, shift, mean, variance) {epsilon=0.001}
)";
  std::vector<KernelSpec> specs;
  for (const auto& [contraction, count] :
       {std::pair(kConv, "10"), std::pair(kConvBias, "10"), std::pair(kGemm, "9")}) {
    const std::string normalization = absl::StrReplaceAll(kNormalization, {{"COUNT", count}});
    for (const char* rest : {"y = Relu(n)", "s = Add(full, n)\ny = Relu(s)", "y = HardSwish(n)",
                             "y = Sub(channel, n)"}) {
      Add(contraction, normalization + rest, specs);
    }
  }
  return specs;
}

// What the main node itself can be, each alone, with what the libraries take behind it and with
// what they do not.
std::vector<KernelSpec> WithSomeEpilogues(const std::vector<Contraction>& contractions) {
  std::vector<KernelSpec> specs;
  for (const Contraction& contraction : contractions) {
    for (const char* epilogue :
         {"", "s = Add(c, full)\ny = Relu(s)", "s = Add(c, channel)\ny = Sigmoid(s)",
          "s = Mul(c, fixed_channel)\nh = HardSwish(s)\ny = Sub(full, h)"}) {
      Add(contraction, epilogue, specs);
    }
  }
  return specs;
}

std::vector<KernelSpec> ConvolutionsOfEveryKind() {
  return WithSomeEpilogues({
      {"input x: FLOAT[2,4,15]\nconst w: FLOAT[6,4,3] = random(1)\nconst b: FLOAT[6] = random(2)\n"
       "c = Conv(x, w, b) {pads=[1,2], strides=[2], dilations=[3]}\n",
       "2,6,6", "6,1"},
      {"input x: FLOAT[1,3,5,4,6]\nconst w: FLOAT[4,3,2,3,3] = random(1)\n"
       "c = Conv(x, w) {pads=[1,1,1,0,1,1], strides=[1,2,1]}\n",
       "1,4,5,2,6", "4,1,1,1"},
      {"input x: FLOAT[1,6,7,7]\nconst w: FLOAT[9,2,3,3] = random(1)\n"
       "c = Conv(x, w) {group=3, pads=[0,2,1,3], dilations=[2,1]}\n",
       "1,9,4,10", "9,1,1"},
      {"input x: FLOAT[2,8,6,6]\nconst w: FLOAT[8,1,3,3] = random(1)\n"
       "const b: FLOAT[8] = random(2)\n"
       "c = Conv(x, w, b) {group=8, auto_pad=\"SAME_UPPER\", strides=[2,2]}\n",
       "2,8,3,3", "8,1,1"},
      {"input x: FLOAT[1,4,6,5]\ninput w: FLOAT[6,4,3,3]\ninput b: FLOAT[6]\nc = Conv(x, w, b)\n",
       "1,6,4,3", "6,1,1"},
      {"input x: FLOAT[1,4,9]\ninput w: FLOAT[6,2,3]\nc = Conv(x, w) {group=2}\n", "1,6,7", "6,1"},
      // Of single pixels: products.
      {"input x: FLOAT[2,4,3,5,2]\ninput w: FLOAT[6,4,1,1,1]\nc = Conv(x, w)\n", "2,6,3,5,2",
       "6,1,1,1"},
      {"input x: FLOAT[2,5,9]\ninput w: FLOAT[7,5,1]\nconst b: FLOAT[7] = random(2)\n"
       "c = Conv(x, w, b)\n",
       "2,7,9", "7,1"},
      // None, though the window is one pixel.
      {"input x: FLOAT[1,4,6,5]\ninput w: FLOAT[6,4,1,1]\nc = Conv(x, w) {strides=[2,1]}\n",
       "1,6,3,5", "6,1,1"},
      {"input x: FLOAT[1,4,6,5]\ninput w: FLOAT[6,4,1,1]\nc = Conv(x, w) {pads=[1,0,0,0]}\n",
       "1,6,7,5", "6,1,1"},
      {"input x: FLOAT[1,4,6,5]\ninput w: FLOAT[6,2,1,1]\nc = Conv(x, w) {group=2}\n", "1,6,6,5",
       "6,1,1"},
  });
}

std::vector<KernelSpec> TransposedConvolutionsOfEveryKind() {
  return WithSomeEpilogues({
      {"input x: FLOAT[1,5,4,3]\nconst w: FLOAT[5,6,3,3] = random(1)\n"
       "const b: FLOAT[6] = random(2)\n"
       "c = ConvTranspose(x, w, b) {strides=[2,2], pads=[1,1,1,1], output_padding=[1,1]}\n",
       "1,6,8,6", "6,1,1"},
      {"input x: FLOAT[2,6,4,3]\ninput w: FLOAT[6,2,3,2]\n"
       "c = ConvTranspose(x, w) {group=3, strides=[2,1], dilations=[1,2]}\n",
       "2,6,9,5", "6,1,1"},
      {"input x: FLOAT[1,4,7]\nconst w: FLOAT[4,3,4] = random(1)\n"
       "c = ConvTranspose(x, w) {strides=[3], output_padding=[2], pads=[0,1]}\n",
       "1,3,23", "3,1"},
      {"input x: FLOAT[1,2,2,3,2]\nconst w: FLOAT[2,4,2,2,2] = random(1)\n"
       "c = ConvTranspose(x, w) {strides=[2,1,2]}\n",
       "1,4,4,4,4", "4,1,1,1"},
  });
}

std::vector<KernelSpec> ProductsOfEveryBatch() {
  return WithSomeEpilogues({
      {"input x: FLOAT[3,4,5,6]\ninput w: FLOAT[3,4,6,7]\nc = MatMul(x, w)\n", "3,4,5,7", "7"},
      {"input x: FLOAT[3,4,5,6]\ninput w: FLOAT[6,7]\nc = MatMul(x, w)\n", "3,4,5,7", "7"},
      {"input x: FLOAT[5,6]\ninput w: FLOAT[3,2,6,7]\nc = MatMul(x, w)\n", "3,2,5,7", "7"},
      {"input x: FLOAT[1,1,5,6]\nconst w: FLOAT[3,6,7] = random(1)\nc = MatMul(x, w)\n", "1,3,5,7",
       "7"},
      {"input x: FLOAT[1,3,5,6]\ninput w: FLOAT[3,6,7]\nc = MatMul(x, w)\n", "1,3,5,7", "7"},
      {"input x: FLOAT[3,1,5,6]\ninput w: FLOAT[1,4,6,7]\nc = MatMul(x, w)\n", "3,4,5,7", "7"},
      {"input x: FLOAT[3,4,5,6]\nconst w: FLOAT[4,6,7] = random(1)\nc = MatMul(x, w)\n", "3,4,5,7",
       "7"},
      {"const x: FLOAT[4,1,5,6] = random(1)\ninput w: FLOAT[4,2,6,7]\nc = MatMul(x, w)\n",
       "4,2,5,7", "7"},
      {"input x: FLOAT[6]\ninput w: FLOAT[3,6,7]\nc = MatMul(x, w)\n", "3,7", "7"},
      {"input x: FLOAT[3,5,6]\ninput w: FLOAT[6]\nc = MatMul(x, w)\n", "3,5", "5"},
      {"input x: FLOAT[2,3,5,6]\nconst w: FLOAT[6] = random(1)\nc = MatMul(x, w)\n", "2,3,5", "5"},
  });
}

// Chains of every elementwise function that cuDNN has, in both layouts.
std::vector<KernelSpec> ElementwiseChains() {
  constexpr const char* kGraphs[] = {
      // Images, with what spreads over their channels.
      "input x: FLOAT[2,6,5,4]\ninput z: FLOAT[2,6,5,4]\ninput b: FLOAT[6,1,1]\n"
      "s = Add(x, z)\nt = Mul(b, s)\ny = Relu(t)\noutput y\n",
      "input x: FLOAT[2,6,5,4]\nconst b: FLOAT[6,1,1] = random(1)\n"
      "s = Sub(b, x)\ny = Clip(s) {min=-0.5, max=0.25}\noutput y\n",
      "input x: FLOAT[2,6,5,4]\nconst scale: FLOAT[6] = random(5)\n"
      "const shift: FLOAT[6] = random(6)\nconst mean: FLOAT[6] = random(7)\n"
      "const variance: FLOAT[6] = random(8)\n"
      "n = BatchNormalization(x, scale, shift, mean, variance)\ny = Relu(n)\noutput y\n",
      // Rows.
      "input x: FLOAT[3,7,10]\nconst b: FLOAT[10] = random(1)\nconst c: FLOAT[] = random(2)\n"
      "s = Add(x, b)\ng = Gelu(s)\nm = Max(g, c)\ny = Min(m, x)\noutput y\n",
      "input x: FLOAT[5,9]\ninput z: FLOAT[5,9]\n"
      "a = Abs(x)\ne = Exp(a)\nl = Log(e)\nq = Sqrt(l)\nn = Neg(q)\ny = Sub(z, n)\noutput y\n",
      "input x: FLOAT[4,8]\n"
      "a = Sin(x)\nb = Cos(a)\nc = Erf(b)\nd = Reciprocal(c)\ne = Tanh(d)\nf = Sigmoid(e)\n"
      "y = Gelu(f) {approximate=\"tanh\"}\noutput y\n",
      "input x: FLOAT[4,8]\ninput z: FLOAT[4,8]\n"
      "a = Sub(x, z)\nb = LeakyRelu(a) {alpha=0.1}\nc = HardSigmoid(b) {alpha=0.3, beta=0.4}\n"
      "y = HardSwish(c)\noutput y\n",
      "input x: FLOAT[4,8]\ninput z: FLOAT[4,8]\n"
      "e = Exp(x)\nd = Div(z, e)\nf = Floor(d)\ng = Mul(f, x)\ny = Ceil(g)\noutput y\n",
  };
  std::vector<KernelSpec> specs;
  for (const char* graph : kGraphs) {
    for (const char* type : kTypes) {
      for (KernelSpec& spec : NativeSpecsOf(absl::StrReplaceAll(graph, {{"FLOAT", type}}))) {
        specs.push_back(spec);
        if (spec.outputs[0].type.rank() != 4) continue;
        for (std::vector<Operand>* operands : {&spec.inputs, &spec.outputs}) {
          for (Operand& operand : *operands) {
            if (HasLayout(operand.type)) operand.layout = Layout::kChannelsLast;
          }
        }
        specs.push_back(std::move(spec));
      }
    }
  }
  return specs;
}

std::vector<KernelSpec> GemmsOfEveryKind() {
  std::vector<KernelSpec> specs;
  for (const char* dims : {"", "1", "7", "5,7", "1,7", "5,1", "1,1"}) {
    for (const char* attributes :
         {"", "{transB=1}", "{transA=1, transB=1, alpha=0.5}", "{beta=-0.25}",
          "{transA=1, alpha=1.5, beta=2.0}", "{alpha=0.5, beta=0.0}"}) {
      const bool transposes_a = absl::StrContains(attributes, "transA");
      const bool transposes_b = absl::StrContains(attributes, "transB");
      const std::string lines =
          absl::StrCat("input x: FLOAT[", transposes_a ? "6,5" : "5,6", "]\ninput w: FLOAT[",
                       transposes_b ? "7,6" : "6,7", "]\ninput b: FLOAT[", dims,
                       "]\nc = Gemm(x, w, b) ", attributes, "\n");
      const Contraction gemm = {lines.c_str(), "5,7", "7"};
      Add(gemm, "", specs);
      Add(gemm, "s = Add(full, c)\nt = Add(s, channel)\ny = Relu(t)", specs);
      Add(gemm, "h = HardSwish(c)\ny = Sub(fixed_channel, h)", specs);
    }
  }
  // What is divided by such a factor does not fit into 16 bits.
  for (const char* dims : {"7", "5,1"}) {
    const std::string lines =
        absl::StrCat("input x: FLOAT[5,6]\ninput w: FLOAT[6,7]\ninput b: FLOAT[", dims,
                     "]\nc = Gemm(x, w, b) {beta=0.000001}\n");
    Add({lines.c_str(), "5,7", "7"}, "", specs);
  }
  const Contraction without = {
      "input x: FLOAT[5,6]\nconst w: FLOAT[6,7] = random(1)\nc = Gemm(x, w) {alpha=0.5}\n", "5,7",
      "7"};
  Add(without, "", specs);
  Add(without, "s = Add(full, c)\ny = Relu(s)", specs);
  return specs;
}

// With heads in front of the positions and behind them, without a mask and with those that are
// usual.
std::vector<KernelSpec> AttentionsOfEveryKind() {
  constexpr const char* kHeads[] = {
      "input q: FLOAT[2,3,6,16]\ninput k: FLOAT[2,3,7,16]\ninput v: FLOAT[2,3,7,24]\n"
      "b = Transpose(k) {perm=[0,1,3,2]}\ns = MatMul(q, b)\nLOGITSp = Softmax(d) {axis=3}\n"
      "y = MatMul(p, v)",
      "input q: FLOAT[2,6,3,16]\ninput k: FLOAT[2,7,3,16]\ninput v: FLOAT[2,7,3,24]\n"
      "a = Transpose(q) {perm=[0,2,1,3]}\nb = Transpose(k) {perm=[0,2,3,1]}\n"
      "c = Transpose(v) {perm=[0,2,1,3]}\ns = MatMul(a, b)\nLOGITSp = Softmax(d) {axis=3}\n"
      "o = MatMul(p, c)\ny = Transpose(o) {perm=[0,2,1,3]}"};
  constexpr const char* kLogits[] = {
      "const c0: FLOAT[] = [4.0]\nd = Div(s, c0)\n",
      "input m: FLOAT[2,1,1,7]\nconst c0: FLOAT[] = [0.25]\ne = Mul(s, c0)\nd = Add(e, m)\n",
      "input m: FLOAT[1,1,6,7]\nd = Add(s, m)\n",
      "input m: FLOAT[2,3,6,7]\nd = Add(s, m)\n",
      "const m: FLOAT[1,1,6,7] = random(1)\nd = Add(s, m)\n",
      "const m: FLOAT[2,1,1,7] = random(1)\nd = Add(s, m)\n"};
  std::vector<KernelSpec> specs;
  for (const char* heads : kHeads) {
    for (const char* logits : kLogits) {
      for (const char* type : kTypes) {
        for (KernelSpec& spec : NativeSpecsOf(
                 absl::StrCat(absl::StrReplaceAll(absl::StrReplaceAll(heads, {{"LOGITS", logits}}),
                                                  {{"FLOAT", type}}),
                              "\noutput y\n"))) {
          specs.push_back(std::move(spec));
        }
      }
    }
  }
  return specs;
}

}  // namespace

std::vector<LowerCase> LowerCases() {
  return {
      {"ConvolutionsWithEveryEpilogue", [] { return WithEveryEpilogue(kConv); }},
      {"ConvolutionsWithBiasAndEveryEpilogue", [] { return WithEveryEpilogue(kConvBias); }},
      {"PointwiseConvolutionsWithEveryEpilogue", [] { return WithEveryEpilogue(kPointwise); }},
      {"DepthwiseConvolutionsWithEveryEpilogue", [] { return WithEveryEpilogue(kDepthwise); }},
      {"ProductsWithEveryEpilogue", [] { return WithEveryEpilogue(kMatMul); }},
      {"GemmsWithEveryEpilogue", [] { return WithEveryEpilogue(kGemm); }},
      {"BatchNormalizations", BatchNormalizations},
      {"ConvolutionsOfEveryKind", ConvolutionsOfEveryKind},
      {"TransposedConvolutionsOfEveryKind", TransposedConvolutionsOfEveryKind},
      {"ProductsOfEveryBatch", ProductsOfEveryBatch},
      {"GemmsOfEveryKind", GemmsOfEveryKind},
      {"AttentionsOfEveryKind", AttentionsOfEveryKind},
      {"ElementwiseChains", ElementwiseChains},
  };
}

}  // namespace quotient::kernels::cuda
