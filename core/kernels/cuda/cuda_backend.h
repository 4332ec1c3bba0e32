#pragma once

// The backend of NVIDIA GPUs: cuDNN, cuBLASLt and Quotient's own kernels.

#include <memory>
#include <optional>
#include <string>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "core/kernels/backend.h"
#include "core/kernels/cuda/interface/gpu.h"
#include "core/kernels/cuda/interface/matmul_problem.h"

namespace quotient::kernels::cuda {

struct CudaOptions {
  MathPolicy policy = MathPolicy::kTf32;
  // Independent kernels of a graph run concurrently on up to this many streams. Costs are sums,
  // which predict the time for one.
  int lanes = 1;
  // Number of threads on which kernels are compiled, for timing and for a graph.
  int compile_threads = 1;
  // A folder for compiled code (OpenCodeCache, for GPUs of this machine) and for the names of
  // kernels that crashed a process (OpenRunJournal). If "", the next process compiles everything,
  // and runs such kernels, again.
  std::string cache_directory;
  // $QUOTIENT_CUDA_PLUGIN (LoadPlugin) and $NVIDIA_TF32_OVERRIDE; "" if they are not set.
  std::string plugin;
  std::string tf32_override;
};

// The environment variable by which NVIDIA's libraries are kept from TF32.
inline constexpr char kTf32Variable[] = "NVIDIA_TF32_OVERRIDE";

// A GPU as users name it: "cuda" is the first one, "cuda:1" the second. With "-strict32" its
// float32 is never rounded to TF32.
struct CudaDevice {
  int ordinal = 0;
  MathPolicy policy = MathPolicy::kTf32;
};
std::optional<CudaDevice> ParseCudaDevice(absl::string_view name);

// Opens a GPU of the machine, 0 being the first. Fails with DEVICE_NOT_PRESENT, as LoadPlugin and
// OpenGpu do.
absl::StatusOr<std::unique_ptr<Backend>> NewBackend(int ordinal, const CudaOptions& options);
// Uses a GPU that is open.
std::unique_ptr<Backend> NewBackend(std::unique_ptr<Gpu> gpu, const CudaOptions& options);

}  // namespace quotient::kernels::cuda
