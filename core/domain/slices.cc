#include "core/domain/slices.h"

#include <algorithm>

namespace quotient::domain {

model::AttributeMap SliceAttributes(const SliceRange& range) {
  return {{"axes", model::Ints{range.axis}},
          {"starts", model::Ints{range.begin}},
          {"ends", model::Ints{range.end}}};
}

std::optional<SliceRange> ReadSlice(const model::AttributeMap& attributes,
                                    const model::TensorType& input) {
  const model::Ints* starts = attributes.FindInts("starts");
  const model::Ints* ends = attributes.FindInts("ends");
  if (starts == nullptr || ends == nullptr || starts->size() != 1 || ends->size() != 1) {
    return std::nullopt;
  }
  const model::Ints axes = attributes.GetInts("axes", {0});
  const model::Ints steps = attributes.GetInts("steps", {1});
  if (axes.size() != 1 || steps.size() != 1 || steps[0] != 1 || !input.has_rank()) {
    return std::nullopt;
  }
  int64_t axis = axes[0] < 0 ? axes[0] + input.rank() : axes[0];
  if (axis < 0 || axis >= input.rank() || !input.dim(axis).is_number()) return std::nullopt;
  const int64_t dim = input.dim(axis).number();
  const auto position = [dim](int64_t index) {
    if (index < 0) index = index < -dim ? 0 : index + dim;
    return std::min(index, dim);
  };
  const SliceRange range{axis, position((*starts)[0]), position((*ends)[0])};
  if (range.begin > range.end) return std::nullopt;
  return range;
}

}  // namespace quotient::domain
