#pragma once

// Which candidates do a subset of the original's work. Such a candidate cannot be slower for any
// reason that lies in its kernels, so it need not be measured to be faster in order to be taken.

#include "core/cost/cost_model.h"

namespace quotient::optimize {

// Whether the candidate does less than the original and nothing else. A kernel consists of its main
// operator, of the bias of a convolution or Gemm, and of the element-wise operators behind it. The
// candidate does a subset of the work if there are different parts of the original's kernels such
// that
//   - each of its main operators is one of the original's, with the same attributes, types and
//     layouts;
//   - each of its element-wise operators behind others is one behind another, or a kernel of its
//     own, with the same attributes and types;
//   - each bias is one of a value with the same type, or takes the place of an operator that wrote
//     such a value, as that of a BatchNormalization that was folded into a convolution does;
// and at least one part is left over or has given its place to a bias. So fusion that is lost and a
// change of layout that is added are no subsets. Values of constants do not matter. Kernels that
// are merely smaller are not accepted, because sizes that do not suit the kernels of a device may
// take longer than larger ones.
bool DoesSubsetOfWork(const cost::GraphCost& original, const cost::GraphCost& candidate);

}  // namespace quotient::optimize
