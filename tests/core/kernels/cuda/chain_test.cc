// The fused element-wise kernels of the GPU.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "core/kernels/cuda/source/programs.h"
#include "core/kernels/fusion.h"
#include "tests/core/kernels/cuda/source_checks.h"
#include "tests/support/status_matchers.h"

namespace quotient::kernels::cuda {
namespace {

using model::DType;

const std::vector<std::string>& UnaryOps() {
  static const auto& ops = *new std::vector<std::string>{
      "Relu", "LeakyRelu", "Sigmoid", "Tanh",    "Clip", "HardSigmoid", "HardSwish",
      "Gelu", "Neg",       "Abs",     "Sqrt",    "Exp",  "Reciprocal",  "Log",
      "Erf",  "Sin",       "Cos",     "Floor",   "Ceil", "Elu",         "Mish",
      "Atan", "Softplus",  "Swish",   "Softsign"};
  return ops;
}

const std::vector<std::string>& BinaryOps() {
  static const auto& ops =
      *new std::vector<std::string>{"Add", "Mul", "Max", "Min", "Sub", "Div", "Pow"};
  return ops;
}

model::AttributeMap RandomAttributes(Rng& rng, const std::string& op) {
  model::AttributeMap attributes;
  if (rng.Below(3) == 0) return attributes;
  if (op == "LeakyRelu") attributes.Set("alpha", 0.3);
  if (op == "Elu" || op == "Swish") attributes.Set("alpha", 0.75);
  if (op == "HardSigmoid") attributes.Set("alpha", 0.25), attributes.Set("beta", 0.4);
  if (op == "Clip") attributes.Set("min", -0.5);
  if (op == "Clip" && rng.Below(2) == 0) attributes.Set("max", 1.0);
  if (op == "Gelu") attributes.Set("approximate", std::string("tanh"));
  return attributes;
}

// Makes chains of one element type.
class ChainMaker {
 public:
  explicit ChainMaker(uint64_t seed)
      : rng_(seed),
        dtype_(Choose<DType>(rng_, {DType::kFloat32, DType::kFloat16, DType::kBfloat16})),
        dims_(RandomDims(rng_, static_cast<int>(rng_.Below(6)))) {}

  KernelSpec Make() {
    spec_.outputs = {RandomOperand(rng_, dtype_, dims_)};
    MakeMain();
    for (uint64_t i = rng_.Below(4); i > 0; --i) spec_.epilogue.push_back(MakeEpilogue());
    return spec_;
  }

 private:
  void MakeMain() {
    if (rng_.Below(2) == 0) {
      spec_.op = Choose(rng_, UnaryOps());
      spec_.attributes = RandomAttributes(rng_, spec_.op);
      spec_.inputs = {Full()};
    } else {
      spec_.op = Choose(rng_, BinaryOps());
      spec_.inputs = {Full(), Other()};
      if (rng_.Below(2) == 0) std::swap(spec_.inputs[0], spec_.inputs[1]);
    }
  }

  Epilogue MakeEpilogue() {
    Epilogue epilogue;
    if (dims_.size() >= 2 && rng_.Below(5) == 0) {
      epilogue.op = "BatchNormalization";
      epilogue.attributes.Set("epsilon", 0.01);
      for (int i = 0; i < 4; ++i) {
        epilogue.operands.push_back({model::StaticType(dtype_, std::vector{dims_[1]}), true});
      }
    } else if (rng_.Below(2) == 0) {
      epilogue.op = Choose(rng_, UnaryOps());
      epilogue.attributes = RandomAttributes(rng_, epilogue.op);
    } else {
      epilogue.op = Choose(rng_, BinaryOps());
      epilogue.operands = {Other()};
      epilogue.running_is_second = rng_.Below(3) == 0;
    }
    return epilogue;
  }

  Operand Full() { return RandomOperand(rng_, dtype_, dims_); }
  Operand Other() {
    Operand operand = RandomOperand(rng_, dtype_, RandomBroadcast(rng_, dims_));
    operand.constant = rng_.Below(2) == 0;
    return operand;
  }

  Rng rng_;
  const DType dtype_;
  const std::vector<int64_t> dims_;
  KernelSpec spec_;
};

TEST(ChainTest, RandomChainsAgreeWithTheReference) {
  std::vector<KernelSpec> specs;
  for (uint64_t seed = 0; seed < 200; ++seed) specs.push_back(ChainMaker(seed).Make());
  ExpectSourceKernelsAgree(specs, "chain");
}

TEST(ChainTest, FunctionsThatFewModelsHave) {
  std::vector<KernelSpec> specs;
  for (const char* type : {"float32", "float16", "bfloat16"}) {
    for (const char* call : {"Round(x)",
                             "Sign(x)",
                             "Tan(x)",
                             "Asin(x)",
                             "Acos(x)",
                             "Atan(x)",
                             "Sinh(x)",
                             "Cosh(x)",
                             "Asinh(x)",
                             "Acosh(x)",
                             "Atanh(x)",
                             "Softplus(x)",
                             "Softsign(x)",
                             "Mish(x)",
                             "Elu(x)",
                             "Elu(x) {alpha=0.5}",
                             "Celu(x)",
                             "Celu(x) {alpha=0.5}",
                             "Selu(x)",
                             "Selu(x) {alpha=0.5, gamma=2.0}",
                             "ThresholdedRelu(x)",
                             "Swish(x)",
                             "Swish(x) {alpha=0.5}"}) {
      for (const KernelSpec& spec :
           SpecsOf(absl::StrCat("input x: ", type, "[3,50]\ny = ", call, "\noutput y\n"))) {
        specs.push_back(spec);
      }
    }
  }
  ExpectSourceKernelsAgree(specs, "chain");
}

TEST(ChainTest, LargeTensorsAreReadInRunsOfSixteenBytes) {
  std::vector<KernelSpec> specs;
  for (const char* type : {"float32", "float16", "bfloat16"}) {
    // Channels last, plain, and a length that is no multiple of anything.
    for (const char* dims : {"2,64,60,60", "1,3,303,301"}) {
      const std::string x = absl::StrCat(type, "[", dims, "]");
      for (const char* other : {"[64,1,1]", "[60]", "[1,1,60,1]", "[]"}) {
        const bool fits = std::string(dims) == "2,64,60,60" || std::string(other) == "[]";
        if (!fits) continue;
        for (KernelSpec spec : SpecsOf(absl::StrCat("input x: ", x, "\ninput z: ", type, other,
                                                    "\na = Add(x, z)\ny = Relu(a)\noutput y\n"))) {
          specs.push_back(spec);
          spec.inputs[0].layout = spec.outputs[0].layout = Layout::kChannelsLast;
          specs.push_back(spec);
        }
      }
    }
  }
  ExpectSourceKernelsAgree(specs, "chain");
}

TEST(ChainTest, PowByNotedExponentsReadsNoExponent) {
  std::vector<KernelSpec> specs;
  for (const char* exponent : {"2", "3", "0.5"}) {
    for (const KernelSpec& spec :
         SpecsOf(absl::StrCat("input x: float32[3,5]\nconst e: float32[] = [", exponent,
                              "]\ny = Pow(x, e)\noutput y\n"))) {
      EXPECT_TRUE(spec.attributes.Has(kExponentAttribute));
      const auto program = MakeChainProgram(spec);
      ASSERT_TRUE(program.has_value());
      EXPECT_EQ(program->launches[0].buffers.size(), 2u);
      EXPECT_TRUE(program->constants.empty());
    }
  }
}

TEST(ChainTest, EmptyOutputsNeedNoLaunch) {
  const auto specs = SpecsOf("input x: float32[3,0]\ny = Relu(x)\noutput y\n");
  ASSERT_EQ(specs.size(), 1u);
  const auto program = MakeSourceProgram(specs[0]);
  ASSERT_TRUE(program.has_value());
  EXPECT_TRUE(program->launches.empty());
}

TEST(ChainTest, EqualSpecsGiveEqualTexts) {
  for (uint64_t seed = 0; seed < 5; ++seed) {
    const KernelSpec spec = ChainMaker(seed).Make();
    EXPECT_EQ(std::get<SourceKernel>(MakeChainProgram(spec)->launches[0].what),
              std::get<SourceKernel>(MakeChainProgram(spec)->launches[0].what));
  }
}

}  // namespace
}  // namespace quotient::kernels::cuda
