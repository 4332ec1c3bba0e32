#pragma once

// Sample kernels of every kind and type, for tests that compile them all.

#include <vector>

#include "core/kernels/cuda/interface/source_kernel.h"

namespace quotient::kernels::cuda {

std::vector<SourceKernel> SampleSources();

}  // namespace quotient::kernels::cuda
