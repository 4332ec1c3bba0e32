// Stands for the backend in programs that are built without it (QUOTIENT_CUDA=OFF).

#include "core/base/reason.h"
#include "core/kernels/cuda/cuda_backend.h"

namespace quotient::kernels::cuda {

absl::StatusOr<std::unique_ptr<Backend>> NewBackend(int, const CudaOptions&) {
  return MakeError(Reason::kDeviceNotPresent,
                   "this program was built without CUDA; build the preset release");
}

}  // namespace quotient::kernels::cuda
