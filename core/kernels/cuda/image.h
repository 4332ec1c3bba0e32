#pragma once

// Activations as cuDNN takes them: [N, C, spatial...] with at least two spatial axes.

#include <cstdint>
#include <vector>

#include "core/kernels/cuda/dnn_graph.h"
#include "core/kernels/kernel_spec.h"
#include "core/model/attribute.h"

namespace quotient::kernels::cuda {

// Of rank 3 to 5. cuDNN has nothing with one spatial axis: another one, of size 1, is put in front.
DnnTensor ImageOf(model::DType type, std::vector<int64_t> dims, Layout layout);
DnnTensor ImageOf(const Operand& operand);
// The same for what a window says for each spatial axis: `neutral` for the one that is put in
// front.
model::Ints WithAxis(model::Ints per_axis, int64_t neutral);

// Rows of neighbouring elements, as cuDNN's norms and reductions want them: the channels of one
// pixel each.
DnnTensor RowsOf(model::DType type, int64_t rows, int64_t length);

}  // namespace quotient::kernels::cuda
