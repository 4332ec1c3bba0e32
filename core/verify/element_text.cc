#include "core/verify/element_text.h"

#include <vector>

#include "absl/strings/str_cat.h"

namespace quotient::verify {

std::string ElementText(const model::TensorType& type, int64_t element) {
  std::vector<int64_t> indices;
  const std::vector<int64_t> dims = type.dims();
  for (size_t axis = dims.size(); axis-- > 0;) {
    indices.insert(indices.begin(), element % dims[axis]);
    element /= dims[axis];
  }
  std::string text = "[";
  for (size_t axis = 0; axis < indices.size(); ++axis) {
    absl::StrAppend(&text, axis > 0 ? "," : "", indices[axis]);
  }
  return text + "]";
}

Number NumberAt(const model::Tensor& tensor, int64_t element) {
  if (model::IsFloat(tensor.dtype())) return tensor.GetDouble(element);
  const int64_t integer = tensor.GetInt(element);
  if (tensor.dtype() == model::DType::kUint64) return static_cast<uint64_t>(integer);
  return integer;
}

}  // namespace quotient::verify
