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

}  // namespace quotient::verify
