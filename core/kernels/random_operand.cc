#include "core/kernels/random_operand.h"

#include <vector>

#include "core/base/distinct_tuples.h"
#include "core/kernels/storage.h"
#include "core/ops/op.h"

namespace quotient::kernels {
namespace {

// What the operator requires of the indices that the operand consists of; null if it has none.
const ops::Requirement* IndicesAt(const KernelSpec& spec, size_t index) {
  const ops::OpDef* const op = ops::FindOp(spec.op);
  if (op == nullptr) return nullptr;
  for (const ops::Requirement& requirement : op->numerics.requirements) {
    if (static_cast<size_t>(requirement.input) == index && ops::AreIndices(requirement.kind)) {
      return &requirement;
    }
  }
  return nullptr;
}

// The possible integers of an operand: [first, first + count).
struct Range {
  int64_t first = 1;
  uint64_t count = 7;
};

Range RangeOf(const KernelSpec& spec, size_t index, model::DType dtype) {
  if (dtype == model::DType::kBool) return {0, 2};
  const ops::Requirement* const indices = IndicesAt(spec, index);
  if (indices == nullptr) return {};
  const int64_t bound = ops::IndexBound(indices->kind, spec.attributes,
                                        spec.inputs[static_cast<size_t>(indices->data)].type);
  return bound > 0 ? Range{0, static_cast<uint64_t>(bound)} : Range{};
}

// Whether the operand selects blocks to write, each of which may be selected only once.
bool IsToWrite(const KernelSpec& spec, size_t index) {
  const ops::Requirement* const indices = IndicesAt(spec, index);
  return indices != nullptr && ops::AreDistinctTuples(indices->kind, spec.attributes);
}

std::vector<int64_t> TuplesToWrite(const KernelSpec& spec, const model::TensorType& indices,
                                   Rng& rng) {
  const std::vector<int64_t> dims = spec.inputs[0].type.dims();
  const auto depth = static_cast<size_t>(indices.dims().back());
  if (depth == 0) return {};
  return DistinctTuples(std::span(dims).first(depth),
                        indices.elements() / static_cast<int64_t>(depth), rng);
}

std::vector<int64_t> Integers(const KernelSpec& spec, size_t index, const model::TensorType& type,
                              Rng& rng) {
  if (IsToWrite(spec, index)) return TuplesToWrite(spec, type, rng);
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
