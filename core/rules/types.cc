#include "core/rules/types.h"

#include <algorithm>
#include <utility>

#include "core/ops/dims.h"

namespace quotient::rules {

std::optional<int64_t> NumberAt(const model::TensorType& type, int axis) {
  if (!type.has_rank()) return std::nullopt;
  if (axis < 0) axis += type.rank();
  if (axis < 0 || axis >= type.rank() || !type.dim(axis).is_number()) return std::nullopt;
  return type.dim(axis).number();
}

bool SameShape(const model::TensorType& a, const model::TensorType& b) {
  if (!a.has_rank() || !b.has_rank() || a.rank() != b.rank()) return false;
  for (int i = 0; i < a.rank(); ++i) {
    if (!model::SameDim(a.dim(i), b.dim(i))) return false;
  }
  return true;
}

bool SameType(const model::TensorType& a, const model::TensorType& b) {
  return a.dtype != model::DType::kUndefined && a.dtype == b.dtype && SameShape(a, b);
}

bool KeepsShape(const model::TensorType& type, const model::TensorType& small) {
  if (!type.has_rank() || !small.has_rank() || small.rank() > type.rank()) return false;
  for (int i = 1; i <= small.rank(); ++i) {
    const model::Dim& dim = small.dim(small.rank() - i);
    if (!dim.Is(1) && !model::SameDim(dim, type.dim(type.rank() - i))) return false;
  }
  return true;
}

bool VariesAlong(const model::TensorType& type, int rank, int axis, int64_t size) {
  if (!type.has_rank() || type.rank() > rank || axis < 0 || axis >= rank) return false;
  for (int i = 0; i < type.rank(); ++i) {
    const int aligned = rank - type.rank() + i;
    const model::Dim& dim = type.dim(i);
    if (!dim.Is(1) && !(aligned == axis && dim.Is(size))) return false;
  }
  return true;
}

std::optional<std::vector<std::vector<int64_t>>> GroupAxes(const model::Shape& fine,
                                                           const model::Shape& coarse) {
  std::vector<std::vector<int64_t>> groups;
  size_t axis = 0;
  for (const model::Dim& size : coarse) {
    std::vector<int64_t> group;
    model::Dim product = 1;
    const auto is_complete = [&] {
      const bool reaches =
          product.is_number() && size.is_number() && product.number() >= size.number();
      return !group.empty() && (model::SameDim(product, size) || reaches);
    };
    while (axis < fine.size() && !is_complete()) {
      product = ops::MulDims(product, fine[axis]);
      if (product.is_unknown()) return std::nullopt;
      group.push_back(static_cast<int64_t>(axis++));
    }
    if (!model::SameDim(product, size) || group.empty() || product.Is(0)) return std::nullopt;
    groups.push_back(std::move(group));
  }
  while (axis < fine.size() && fine[axis].Is(1) && !groups.empty()) {
    groups.back().push_back(static_cast<int64_t>(axis++));
  }
  if (axis != fine.size()) return std::nullopt;
  return groups;
}

bool MayHaveElements(const model::TensorType& type) {
  return std::ranges::none_of(*type.shape, [](const model::Dim& dim) { return dim.Is(0); });
}

bool IsScalar(const model::TensorType& type, int rank) {
  return type.is_static() && type.elements() == 1 && type.rank() <= rank;
}

}  // namespace quotient::rules
