#pragma once

// NVIDIA GPUs: cuDNN, cuBLASLt and kernels of our own.

#include <memory>
#include <optional>
#include <string>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "core/kernels/backend.h"
#include "core/kernels/cuda/gpu.h"
#include "core/kernels/cuda/matmul_problem.h"

namespace quotient::kernels::cuda {

struct CudaOptions {
  MathPolicy policy = MathPolicy::kTf32;
  // Kernels of a graph that do not need each other run beside each other on up to that many
  // streams. Costs are sums, so one is what they predict.
  int lanes = 1;
  // A folder for what is compiled (OpenCodeCache, for GPUs of the machine) and for the names of
  // kernels that no process came back from (OpenRunJournal); "": the next process compiles, and
  // meets, them again.
  std::string cache_directory;
};

// A GPU as users name it: "cuda", the first one, "cuda:1", the second; with "-strict32" its float32
// stays float32 where it would be rounded to TF32.
struct CudaDevice {
  int ordinal = 0;
  MathPolicy policy = MathPolicy::kTf32;
};
std::optional<CudaDevice> ParseCudaDevice(absl::string_view name);

// On a GPU of the machine, 0 being the first. DEVICE_NOT_PRESENT as LoadPlugin and OpenGpu say.
absl::StatusOr<std::unique_ptr<Backend>> NewBackend(int ordinal, const CudaOptions& options);
// On any.
std::unique_ptr<Backend> NewBackend(std::unique_ptr<Gpu> gpu, const CudaOptions& options);

}  // namespace quotient::kernels::cuda
