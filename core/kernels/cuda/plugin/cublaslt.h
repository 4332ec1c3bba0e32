#pragma once

// cuBLASLt: matrix products with bias and relu. It does not work at all without a GPU.

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "core/kernels/cuda/interface/gpu.h"

namespace quotient::kernels::cuda {

// 130100 means 13.1.
int CublasLtVersion();

// For the device that is selected in Create; callers must select it again. Thread-safe.
class CublasLt {
 public:
  static absl::StatusOr<std::unique_ptr<CublasLt>> Create();
  virtual ~CublasLt() = default;

  // As in Gpu. A plan's name contains its algorithm's number and configuration.
  virtual absl::StatusOr<std::vector<LibraryPlan>> Plans(const MatmulProblem& problem) const = 0;
  // The launcher must not outlive this object.
  virtual absl::StatusOr<std::unique_ptr<Launcher>> Prepare(const MatmulProblem& problem,
                                                            const std::string& plan) const = 0;
};

}  // namespace quotient::kernels::cuda
