#pragma once

// cuDNN without a GPU, by a description of one.

#include <memory>
#include <string>

#include "absl/status/statusor.h"
#include "core/kernels/cuda/interface/gpu.h"

namespace quotient::kernels::cuda {

// As in Plugin. Thread-safe.
absl::StatusOr<std::unique_ptr<DnnChecker>> NewDnnChecker(const std::string& properties_json,
                                                          int compute_capability, CodeCache* cache);

}  // namespace quotient::kernels::cuda
