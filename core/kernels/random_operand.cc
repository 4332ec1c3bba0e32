#include "core/kernels/random_operand.h"

#include <algorithm>
#include <vector>

#include "core/base/distinct_tuples.h"
#include "core/kernels/storage.h"

namespace quotient::kernels {
namespace {

int64_t AxisSize(const KernelSpec& spec) {
  const int rank = spec.inputs[0].type.rank();
  const int64_t axis = spec.attributes.GetInt("axis", 0);
  return spec.inputs[0].type.dim(static_cast<int>(axis < 0 ? axis + rank : axis)).number();
}

// The possible integers of an operand: [first, first + count).
struct Range {
  int64_t first = 1;
  uint64_t count = 7;
};

Range RangeOf(const KernelSpec& spec, size_t index, model::DType dtype) {
  if (dtype == model::DType::kBool) return {0, 2};
  int64_t bound = 0;
  if (index == 1 && (spec.op == "Gather" || spec.op == "GatherElements")) bound = AxisSize(spec);
  if (index == 1 && (spec.op == "GatherND" || spec.op == "ScatterND")) {
    const std::vector<int64_t> dims = spec.inputs[0].type.dims();
    if (!dims.empty()) bound = *std::min_element(dims.begin(), dims.end());
  }
  return bound > 0 ? Range{0, static_cast<uint64_t>(bound)} : Range{};
}

// Whether the operand selects blocks to write, each of which may be selected only once.
bool IsToWrite(const KernelSpec& spec, size_t index) {
  return spec.op == "ScatterND" && index == 1 &&
         spec.attributes.GetString("reduction", "none") == "none";
}

std::vector<int64_t> TuplesToWrite(const KernelSpec& spec, Rng& rng) {
  const std::vector<int64_t> dims = spec.inputs[0].type.dims();
  const model::TensorType& indices = spec.inputs[1].type;
  const auto depth = static_cast<size_t>(indices.dims().back());
  if (depth == 0) return {};
  return DistinctTuples(std::span(dims).first(depth),
                        indices.elements() / static_cast<int64_t>(depth), rng);
}

std::vector<int64_t> Integers(const KernelSpec& spec, size_t index, const model::TensorType& type,
                              Rng& rng) {
  if (IsToWrite(spec, index)) return TuplesToWrite(spec, rng);
  const Range range = RangeOf(spec, index, type.dtype);
  std::vector<int64_t> values(static_cast<size_t>(type.elements()));
  for (int64_t& value : values) value = range.first + static_cast<int64_t>(rng.Below(range.count));
  return values;
}

}  // namespace

model::Tensor RandomOperand(const KernelSpec& spec, size_t index, Rng& rng) {
  const Operand operand = AllOperands(spec)[index];
  std::span<std::byte> bytes;
  model::Tensor tensor = model::Tensor::Allocate(operand.type.dtype, operand.type.dims(), &bytes);
  if (model::IsFloat(operand.type.dtype)) {
    std::vector<double> values(static_cast<size_t>(tensor.elements()));
    for (double& value : values) value = rng.Uniform(-1, 1);
    model::Store(operand.type.dtype, bytes, 0, std::span<const double>(values));
    return tensor;
  }
  const std::vector<int64_t> values = Integers(spec, index, operand.type, rng);
  model::Store(operand.type.dtype, bytes, 0, std::span<const int64_t>(values));
  return tensor;
}

}  // namespace quotient::kernels
