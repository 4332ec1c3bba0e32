#pragma once

// Kernels of every kind and type, for what has to compile them all.

#include <vector>

#include "core/kernels/cuda/source_kernel.h"

namespace quotient::kernels::cuda {

std::vector<SourceKernel> SampleSources();

}  // namespace quotient::kernels::cuda
