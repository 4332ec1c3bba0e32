#pragma once

#include <cstdint>
#include <string>

#include "core/base/number_text.h"
#include "core/model/shape.h"
#include "core/model/tensor.h"

namespace quotient::verify {

// The indices of an element as text: "[1,3]" for element 7 of a tensor [2,4]. The type is static.
std::string ElementText(const model::TensorType& type, int64_t element);

// The element of a tensor of a computable type.
Number NumberAt(const model::Tensor& tensor, int64_t element);

}  // namespace quotient::verify
