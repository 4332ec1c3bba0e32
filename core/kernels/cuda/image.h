#pragma once

// Activations in cuDNN's form: [N, C, spatial...] with at least two spatial axes.

#include <cstdint>
#include <vector>

#include "core/kernels/cuda/interface/dnn_graph.h"
#include "core/kernels/kernel_spec.h"
#include "core/model/attribute.h"

namespace quotient::kernels::cuda {

// For rank 3 to 5. cuDNN supports nothing with one spatial axis, so another one of size 1 is put in
// front.
DnnTensor ImageOf(model::DType type, std::vector<int64_t> dims, Layout layout);
DnnTensor ImageOf(const Operand& operand);
// The same for the window's numbers per spatial axis: the additional axis gets `neutral`.
model::Ints WithAxis(model::Ints per_axis, int64_t neutral);

bool IsChannelsLast(const Operand& operand);

// Rows of contiguous elements, as cuDNN's norms and reductions need them: each row is the channels
// of one pixel.
DnnTensor RowsOf(model::DType type, int64_t rows, int64_t length);

}  // namespace quotient::kernels::cuda
