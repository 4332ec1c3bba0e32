#include "core/rules/attention_masks.h"

namespace quotient::rules {

bool ShowsSomethingInEachRow(const ClassData& condition, bool wanted) {
  if (!condition.constant || condition.type.rank() == 0) return false;
  const model::Tensor& tensor = *condition.constant;
  const int64_t columns = tensor.dims().back();
  if (tensor.elements() == 0 || tensor.elements() > kMostMaskElements) return false;
  bool shows = false;
  for (int64_t i = 0; i < tensor.elements(); ++i) {
    shows = (shows && i % columns != 0) || (tensor.GetInt(i) != 0) == wanted;
    if (!shows && i % columns == columns - 1) return false;
  }
  return true;
}

bool ShowsKeys(const ClassData& mask) {
  return mask.facts.softmax_safe() && mask.facts.row_floor > -ops::LargestOf(mask.type.dtype);
}

bool HidesNoKey(const ClassData& mask) {
  return mask.facts.softmax_safe() && mask.facts.values.low > -ops::LargestOf(mask.type.dtype);
}

}  // namespace quotient::rules
