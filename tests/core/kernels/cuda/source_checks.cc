#include "tests/core/kernels/cuda/source_checks.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>

#include "core/kernels/cuda/source/programs.h"
#include "core/kernels/layout.h"
#include "core/kernels/partition.h"
#include "tests/core/kernels/graph_cases.h"
#include "tests/support/cuda/program_runner.h"
#include "tests/support/status_matchers.h"

namespace quotient::kernels::cuda {
namespace {

using model::DType;
using model::Tensor;

// Rounds at most once, so there is one right answer.
bool IsExact(const KernelSpec& spec) {
  static const auto& ops = *new std::vector<std::string>{"Cast",
                                                         "CastLike",
                                                         "Where",
                                                         "Transpose",
                                                         kReorderOp,
                                                         "Concat",
                                                         "Slice",
                                                         "Split",
                                                         "Gather",
                                                         "GatherElements",
                                                         "GatherND",
                                                         "ScatterND",
                                                         "Pad",
                                                         "Expand",
                                                         "Tile",
                                                         "Trilu",
                                                         "MaxPool",
                                                         "QuantizeLinear",
                                                         "DequantizeLinear"};
  return spec.epilogue.empty() && std::find(ops.begin(), ops.end(), spec.op) != ops.end();
}

// What a few roundings amount to, of numbers about 1.
double Tolerance(DType dtype) {
  switch (dtype) {
    case DType::kFloat16:
      return 1.5e-3;
    case DType::kBfloat16:
      return 1.2e-2;
    case DType::kFloat32:
      return 1e-4;
    case DType::kFloat64:
      return 1e-12;
    default:
      return 0;
  }
}

void ExpectClose(const Tensor& expected, const Tensor& actual, bool exact) {
  ASSERT_EQ(ToString(expected.type()), ToString(actual.type()));
  if (!model::IsFloat(expected.dtype())) {
    EXPECT_EQ(expected.AsInts(), actual.AsInts());
    return;
  }
  const std::vector<double> wanted = expected.AsDoubles();
  const std::vector<double> found = actual.AsDoubles();
  // Differences of equal numbers are zero but for rounding: relative to the numbers, at most 1.
  double largest = 0;
  for (const double value : wanted) {
    if (std::isfinite(value)) largest = std::max(largest, std::fabs(value));
  }
  const double tolerance = exact ? 0 : Tolerance(expected.dtype()), least = std::min(1.0, largest);
  for (size_t i = 0; i < wanted.size(); ++i) {
    if (wanted[i] == found[i] || (std::isnan(wanted[i]) && std::isnan(found[i]))) continue;
    ASSERT_LE(std::fabs(wanted[i] - found[i]), tolerance * std::max(least, std::fabs(wanted[i])))
        << "element " << i << ": " << wanted[i] << " wanted, " << found[i] << " found";
  }
}

}  // namespace

void ExpectSourceKernelsAgree(const std::vector<KernelSpec>& specs, absl::string_view program) {
  std::vector<SpecCase> cases;
  for (const KernelSpec& spec : specs) {
    cases.push_back({spec, RandomOperands(spec, cases.size())});
  }
  ExpectSourceKernelsAgree(cases, program);
}

void ExpectSourceKernelsAgree(const std::vector<SpecCase>& cases, absl::string_view name) {
  std::vector<Program> programs;
  for (const SpecCase& test_case : cases) {
    std::optional<Program> program = MakeSourceProgram(test_case.spec);
    ASSERT_TRUE(program.has_value()) << KernelKey(test_case.spec);
    ASSERT_TRUE(name.empty() || program->name == name) << KernelKey(test_case.spec);
    programs.push_back(*std::move(program));
  }
  ASSERT_OK_AND_ASSIGN(const auto kernels, EmulateAll(programs));
  for (size_t i = 0; i < cases.size(); ++i) {
    const auto& [spec, operands] = cases[i];
    SCOPED_TRACE(KernelKey(spec));
    ASSERT_OK_AND_ASSIGN(const std::vector<Tensor> expected, ReferenceOutputs(spec, operands));
    ASSERT_OK_AND_ASSIGN(const std::vector<Tensor> actual,
                         RunProgram(spec, programs[i], kernels[i], operands));
    ASSERT_EQ(expected.size(), actual.size());
    for (size_t k = 0; k < expected.size(); ++k) ExpectClose(expected[k], actual[k], IsExact(spec));
    if (::testing::Test::HasFailure()) {
      if (!programs[i].launches.empty()) {
        ADD_FAILURE() << std::get<SourceKernel>(programs[i].launches[0].what).source;
      }
      return;
    }
  }
}

std::vector<KernelSpec> SpecsOf(const std::string& body) {
  const auto groups = PartitionGraph(GraphOf({"specs", body}), {});
  EXPECT_OK(groups.status());
  std::vector<KernelSpec> specs;
  if (!groups.ok()) return specs;
  for (const KernelGroup& group : *groups) {
    if (!group.spec.free) specs.push_back(group.spec);
  }
  return specs;
}

std::vector<int64_t> RandomDims(Rng& rng, int rank) {
  std::vector<int64_t> dims;
  for (int i = 0; i < rank; ++i) {
    dims.push_back(Choose<int64_t>(rng, {1, 2, 3, 4, 5, 7, 8, 9, 16, 17}));
  }
  constexpr int64_t kMostElements = 6000;
  for (int i = 0; model::StaticType(DType::kFloat32, dims).elements() > kMostElements; ++i) {
    dims[i % rank] = 1 + dims[i % rank] / 3;
  }
  return dims;
}

std::vector<int64_t> RandomBroadcast(Rng& rng, const std::vector<int64_t>& dims) {
  std::vector<int64_t> result = dims;
  for (int64_t& dim : result) {
    if (rng.Below(3) == 0) dim = 1;
  }
  const auto dropped = static_cast<std::ptrdiff_t>(rng.Below(dims.size() + 1));
  if (rng.Below(2) == 0) result.erase(result.begin(), result.begin() + dropped);
  return result;
}

Operand RandomOperand(Rng& rng, DType dtype, const std::vector<int64_t>& dims) {
  Operand operand{model::StaticType(dtype, dims)};
  if (HasLayout(operand.type) && rng.Below(2) == 0) operand.layout = Layout::kChannelsLast;
  return operand;
}

}  // namespace quotient::kernels::cuda
