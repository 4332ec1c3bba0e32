#pragma once

// Merging contractions that share an input into one on concatenated weights:
//
//   MatMul(x, A), MatMul(x, B), ..  =  Slices of MatMul(x, [A B ..])
//   Conv(x, a), Conv(x, b), ..      =  Slices along channels of Conv(x, [a b ..])
//
// for any number of them at once, their biases alongside. Convs need groups of 1 (else outputs
// would land in the wrong group), equal strides and dilations, and windows that enlarge to a common
// one.

#include <memory>

#include "core/domain/tensor_domain.h"
#include "core/egraph/rule.h"

namespace quotient::rules {

std::unique_ptr<egraph::Rule> NewMatMulMerge(domain::TensorDomain* domain);
std::unique_ptr<egraph::Rule> NewGemmMerge(domain::TensorDomain* domain);
std::unique_ptr<egraph::Rule> NewConvMerge(domain::TensorDomain* domain);

}  // namespace quotient::rules
