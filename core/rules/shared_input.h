#pragma once

// Rules that merge contractions with a common input into one with concatenated weights:
//
//   MatMul(x, A), MatMul(x, B), ..  =  Slices of MatMul(x, [A B ..])
//   Conv(x, a), Conv(x, b), ..      =  Slices along channels of Conv(x, [a b ..])
//
// Any number of contractions is merged at once, together with their biases. Convs must have one
// group (otherwise outputs would end up in the wrong group), equal strides and dilations, and
// windows that can be enlarged to a common one.

#include <memory>

#include "core/domain/tensor_domain.h"
#include "core/egraph/rule.h"

namespace quotient::rules {

std::unique_ptr<egraph::Rule> NewMatMulMerge(domain::TensorDomain* domain);
std::unique_ptr<egraph::Rule> NewGemmMerge(domain::TensorDomain* domain);
std::unique_ptr<egraph::Rule> NewConvMerge(domain::TensorDomain* domain);

}  // namespace quotient::rules
