#include "core/kernels/layout.h"

#include <numeric>

#include "absl/container/flat_hash_map.h"
#include "absl/container/flat_hash_set.h"
#include "core/ops/op.h"

namespace quotient::kernels {
namespace {

// Operators whose role does not follow from their class.
const absl::flat_hash_map<absl::string_view, LayoutRole>& SpecialRoles() {
  static const auto& roles = *new absl::flat_hash_map<absl::string_view, LayoutRole>{
      {"Conv", LayoutRole::kChannelsLast},
      {"ConvTranspose", LayoutRole::kChannelsLast},
      {"MaxPool", LayoutRole::kChannelsLast},
      {"AveragePool", LayoutRole::kChannelsLast},
      {"BatchNormalization", LayoutRole::kTied},
      {"Concat", LayoutRole::kTied},
      {"Split", LayoutRole::kTied},
      {"Slice", LayoutRole::kTied},
      {"Pad", LayoutRole::kTied},
      {"Resize", LayoutRole::kTied},
      {"Expand", LayoutRole::kTied},
      {"Identity", LayoutRole::kTied},
      {"Dropout", LayoutRole::kTied},
      {"Where", LayoutRole::kTied},
      {"Cast", LayoutRole::kTied},
      {"Clip", LayoutRole::kTied},
      {"Softmax", LayoutRole::kTied},
      {"GlobalAveragePool", LayoutRole::kAny},
      {"GlobalMaxPool", LayoutRole::kAny},
      {"Transpose", LayoutRole::kAny},
      {kReorderOp, LayoutRole::kAny},
  };
  return roles;
}

}  // namespace

LayoutRole RoleOf(absl::string_view op) {
  const auto& special = SpecialRoles();
  if (const auto it = special.find(op); it != special.end()) return it->second;
  const ops::OpDef* def = ops::FindOp(op);
  if (def == nullptr) return LayoutRole::kPlain;
  switch (def->op_class) {
    case ops::OpClass::kUnary:
    case ops::OpClass::kBinary:
      return LayoutRole::kTied;
    case ops::OpClass::kReduction:
      return LayoutRole::kAny;
    default:
      return LayoutRole::kPlain;
  }
}

bool HasLayout(const model::TensorType& type) {
  return type.has_rank() && type.rank() >= 3 && type.rank() <= 5 && model::IsFloat(type.dtype);
}

std::vector<int> PhysicalAxes(int rank, Layout layout) {
  std::vector<int> axes(rank);
  std::iota(axes.begin(), axes.end(), 0);
  if (layout == Layout::kChannelsLast && rank >= 3) {
    axes.erase(axes.begin() + 1);
    axes.push_back(1);
  }
  return axes;
}

std::vector<int64_t> StridesOf(std::span<const int64_t> dims, Layout layout) {
  std::vector<int64_t> strides(dims.size());
  const std::vector<int> axes = PhysicalAxes(static_cast<int>(dims.size()), layout);
  int64_t stride = 1;
  for (size_t i = axes.size(); i-- > 0;) {
    strides[axes[i]] = stride;
    stride *= dims[axes[i]];
  }
  return strides;
}

std::vector<int64_t> BroadcastStrides(std::span<const int64_t> dims,
                                      std::span<const int64_t> strides,
                                      std::span<const int64_t> to) {
  std::vector<int64_t> result(to.size(), 0);
  const size_t lead = to.size() - dims.size();
  for (size_t i = 0; i < dims.size(); ++i) result[lead + i] = dims[i] == 1 ? 0 : strides[i];
  return result;
}

bool SameMemory(const model::TensorType& type, Layout a, Layout b) {
  if (a == b || type.rank() < 3) return true;
  const std::vector<int64_t> dims = type.dims();
  int64_t spatial = 1;
  for (size_t i = 2; i < dims.size(); ++i) spatial *= dims[i];
  return dims[1] <= 1 || spatial <= 1;
}

bool IsPlain(const Operand& operand) {
  return SameMemory(operand.type, operand.layout, Layout::kPlain);
}

Layout CanonicalLayout(const model::TensorType& type, Layout layout) {
  return SameMemory(type, layout, Layout::kPlain) ? Layout::kPlain : layout;
}

}  // namespace quotient::kernels
