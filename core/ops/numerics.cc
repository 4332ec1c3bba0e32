#include "core/ops/numerics.h"

#include <algorithm>

namespace quotient::ops {

bool AreIndices(Requirement::Kind kind) {
  return kind == Requirement::Kind::kIndices || kind == Requirement::Kind::kIndexTuples ||
         kind == Requirement::Kind::kTargetTuples;
}

bool AreDistinctTuples(Requirement::Kind kind, const model::AttributeMap& attributes) {
  return kind == Requirement::Kind::kTargetTuples &&
         attributes.GetString("reduction", "none") == "none";
}

int64_t IndexBound(Requirement::Kind kind, const model::AttributeMap& attributes,
                   const model::TensorType& data) {
  const std::vector<int64_t> dims = data.dims();
  if (dims.empty()) return 1;
  if (kind != Requirement::Kind::kIndices) return *std::ranges::min_element(dims);
  const int64_t axis = attributes.GetInt("axis", 0);
  return dims[axis < 0 ? axis + static_cast<int64_t>(dims.size()) : axis];
}

}  // namespace quotient::ops
