// Element-wise GPU kernels of other types than floats.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include "absl/strings/str_cat.h"
#include "tests/core/kernels/cuda/source_checks.h"

namespace quotient::kernels::cuda {
namespace {

using model::DType;
using model::Tensor;

const std::vector<DType>& ComputableTypes() {
  static const auto& types = *new std::vector<DType>{
      DType::kFloat32, DType::kFloat16, DType::kBfloat16, DType::kFloat64, DType::kInt8,
      DType::kInt16,   DType::kInt32,   DType::kInt64,    DType::kUint8,   DType::kUint16,
      DType::kUint32,  DType::kUint64,  DType::kBool};
  return types;
}

Tensor TensorOf(DType dtype, std::span<const double> values) {
  std::span<std::byte> bytes;
  Tensor tensor = Tensor::Allocate(dtype, {static_cast<int64_t>(values.size())}, &bytes);
  model::Store(dtype, bytes, 0, values);
  return tensor;
}

// What conversions may stumble over, as far as the type has it.
Tensor SpecialValues(DType dtype) {
  constexpr double kInfinity = std::numeric_limits<double>::infinity();
  std::vector<double> values = {
      0,          1,     -1,   0.5,   -0.5,  1.5,   2.5,   127,           128,
      -128,       -129,  255,  256,   32767, 32768, 65535, 65504,         65519,
      65520,      65536, 1e-8, 6e-8,  2049,  2051,  -3e9,  3e9,           2147483647,
      4294967295, 1e10,  1e19, -1e19, 1e38,  -1e38, 1e-40, 1.00048828125, 1.00146484375};
  if (model::IsFloat(dtype)) {
    values.insert(values.end(), {kInfinity, -kInfinity, std::nan("")});
  }
  return TensorOf(dtype, values);
}

// Floats that an integer type cannot hold are undefined in ONNX, and machines differ.
Tensor WithoutWhatIsUndefinedAs(DType to, const Tensor& floats) {
  const int bits = model::DTypeBits(to);
  const bool is_signed =
      to == DType::kInt8 || to == DType::kInt16 || to == DType::kInt32 || to == DType::kInt64;
  const double least = is_signed ? -std::ldexp(1, bits - 1) : 0;
  const double beyond = std::ldexp(1, is_signed ? bits - 1 : bits);
  std::vector<double> values = floats.AsDoubles();
  std::erase_if(values, [&](double value) {
    return !(std::trunc(value) >= least && value < beyond);  // also NaN
  });
  return TensorOf(floats.dtype(), values);
}

TEST(TypedTest, CastsOfSpecialValues) {
  std::vector<SpecCase> cases;
  int pairs = 0;
  for (const DType from : ComputableTypes()) {
    const Tensor special = SpecialValues(from);
    for (const DType to : ComputableTypes()) {
      const bool truncates = model::IsFloat(from) && model::IsInteger(to);
      const Tensor values = truncates ? WithoutWhatIsUndefinedAs(to, special) : special;
      KernelSpec spec;
      spec.op = "Cast";
      spec.attributes.Set("to", static_cast<int64_t>(to));
      spec.inputs = {{values.type()}};
      spec.outputs = {{model::StaticType(to, values.dims())}};
      // All pairs with a 16-bit float, and some of the others.
      const bool narrow = to == DType::kFloat16 || to == DType::kBfloat16;
      if (from != to && (narrow || ++pairs % 3 != 0)) cases.push_back({spec, {values}});
    }
  }
  ExpectSourceKernelsAgree(cases, "typed");
}

TEST(TypedTest, IsInfOfEitherSign) {
  std::vector<SpecCase> cases;
  for (const DType dtype : {DType::kFloat32, DType::kFloat16, DType::kBfloat16, DType::kFloat64}) {
    const Tensor values = SpecialValues(dtype);
    for (const int64_t positive : {0, 1}) {
      for (const int64_t negative : {0, 1}) {
        KernelSpec spec;
        spec.op = "IsInf";
        spec.attributes.Set("detect_positive", positive);
        spec.attributes.Set("detect_negative", negative);
        spec.inputs = {{values.type()}};
        spec.outputs = {{model::StaticType(DType::kBool, values.dims())}};
        cases.push_back({spec, {values}});
      }
    }
  }
  ExpectSourceKernelsAgree(cases, "typed");
}

// Two operands of one type with random broadcasting and layouts.
KernelSpec RandomPair(Rng& rng, const std::string& op, DType dtype, DType result) {
  KernelSpec spec;
  spec.op = op;
  const std::vector<int64_t> dims = RandomDims(rng, static_cast<int>(rng.Below(5)));
  spec.inputs = {RandomOperand(rng, dtype, dims),
                 RandomOperand(rng, dtype, RandomBroadcast(rng, dims))};
  if (rng.Below(2) == 0) std::swap(spec.inputs[0], spec.inputs[1]);
  spec.outputs = {RandomOperand(rng, result, dims)};
  return spec;
}

TEST(TypedTest, ComparisonsAndLogic) {
  Rng rng(1);
  std::vector<KernelSpec> specs;
  for (const char* op : {"Equal", "Less", "LessOrEqual", "Greater", "GreaterOrEqual"}) {
    for (int i = 0; i < 5; ++i) {
      const std::vector<DType> types(ComputableTypes().begin(), ComputableTypes().end() - 1);
      specs.push_back(RandomPair(rng, op, Choose(rng, types), DType::kBool));
    }
  }
  for (const char* op : {"And", "Or", "Xor", "Equal"}) {
    specs.push_back(RandomPair(rng, op, DType::kBool, DType::kBool));
  }
  ExpectSourceKernelsAgree(specs, "typed");
}

TEST(TypedTest, IntegersAndDoubles) {
  Rng rng(2);
  std::vector<KernelSpec> specs;
  for (const char* op : {"Add", "Sub", "Mul", "Max", "Min"}) {
    for (const DType dtype : {DType::kInt8, DType::kInt32, DType::kInt64, DType::kUint16,
                              DType::kUint64, DType::kFloat64}) {
      specs.push_back(RandomPair(rng, op, dtype, dtype));
    }
  }
  for (const KernelSpec& spec : SpecsOf(R"(
input x: int64[5,7]
input y: int32[9]
a = Neg(x)
b = Abs(y)
c = Sign(a)
d = Relu(b)
e = Clip(y) {min=-1.0, max=1.0}
output c, d, e
)")) {
    specs.push_back(spec);
  }
  ExpectSourceKernelsAgree(specs, "typed");
}

TEST(TypedTest, FunctionsOfDoubles) {
  ExpectSourceKernelsAgree(SpecsOf(R"(
input x: float64[5,7]
input z: float64[7]
input i: int64[7]
a = Abs(x)
b = Sqrt(a)
c = Exp(x)
d = Log(c)
e = Neg(d)
f = Sin(e)
g = Cos(f)
h = Erf(g)
j = Tanh(h)
k = Mul(j, x)
l = Floor(k)
m = Ceil(k)
n = Round(k)
o = Reciprocal(c)
p = Relu(x)
q = Sigmoid(x)
r = Pow(c, z)
s = Pow(c, i)
output b, l, m, n, o, p, q, r, s
)"),
                           "typed");
}

TEST(TypedTest, DivisionOfIntegers) {
  std::vector<SpecCase> cases;
  for (const char* op : {"Div", "Mod"}) {
    for (const DType dtype : {DType::kInt8, DType::kInt32, DType::kInt64, DType::kUint8}) {
      for (const int64_t fmod : {0, 1}) {
        KernelSpec spec;
        spec.op = op;
        if (spec.op == "Mod") spec.attributes.Set("fmod", fmod);
        const model::TensorType type = model::StaticType(dtype, std::vector<int64_t>{7});
        spec.inputs = {{type}, {type}};
        spec.outputs = {{type}};
        const std::vector<double> dividends = {7, -7, 7, -7, -128, 0, 100};
        const std::vector<double> divisors = {2, 2, -3, -3, -1, 5, 1};
        std::vector<Tensor> operands;
        for (const std::vector<double>& values : {dividends, divisors}) {
          std::span<std::byte> bytes;
          operands.push_back(Tensor::Allocate(dtype, {7}, &bytes));
          // Unsigned types get the absolute values.
          std::vector<double> stored = values;
          if (dtype == DType::kUint8) {
            for (double& value : stored) value = std::fabs(value);
          }
          model::Store(dtype, bytes, 0, std::span<const double>(stored));
        }
        cases.push_back({spec, operands});
      }
    }
  }
  ExpectSourceKernelsAgree(cases, "typed");
}

TEST(TypedTest, WhereOfAnyTypeAndBroadcast) {
  Rng rng(3);
  std::vector<KernelSpec> specs;
  for (const DType dtype : ComputableTypes()) {
    KernelSpec spec = RandomPair(rng, "Where", dtype, dtype);
    const Operand condition =
        RandomOperand(rng, DType::kBool, RandomBroadcast(rng, spec.outputs[0].type.dims()));
    spec.inputs.insert(spec.inputs.begin(), condition);
    specs.push_back(spec);
  }
  ExpectSourceKernelsAgree(specs, "typed");
}

TEST(TypedTest, FunctionsThatDoNotFuse) {
  std::vector<KernelSpec> specs;
  for (const char* type : {"float32", "float16", "bfloat16"}) {
    std::string body = absl::StrCat("input x: ", type, "[3,50]\ninput z: ", type, "[50]\n");
    std::string outputs;
    int next = 0;
    const auto add = [&](absl::string_view call) {
      absl::StrAppend(&body, "v", next, " = ", call, "\n");
      absl::StrAppend(&outputs, next == 0 ? "output v" : ", v", next);
      ++next;
    };
    add("IsNaN(x)");
    add("PRelu(x, z)");
    add("Max(x, z, x)");
    add("Min(x)");
    add("Sum(x, z, z)");
    add("Mean(x, z, z)");
    add("Mod(x, z) {fmod=1}");
    for (const KernelSpec& spec : SpecsOf(body + outputs + "\n")) specs.push_back(spec);
  }
  ExpectSourceKernelsAgree(specs, "typed");
}

}  // namespace
}  // namespace quotient::kernels::cuda
