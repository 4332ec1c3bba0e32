#include "core/kernels/onednn/onednn_backend.h"

#include <dnnl.h>

#include <utility>

#include "core/base/status_macros.h"
#include "core/kernels/onednn/executable.h"
#include "core/kernels/onednn/fingerprint.h"
#include "core/kernels/onednn/timed_kernel.h"
#include "core/kernels/partition.h"

namespace quotient::kernels::onednn {
namespace {

class OneDnnBackend : public Backend {
 public:
  OneDnnBackend(DeviceFingerprint fingerprint, int threads)
      : fingerprint_(std::move(fingerprint)), threads_(threads) {}

  const DeviceFingerprint& fingerprint() const override { return fingerprint_; }

  absl::StatusOr<std::vector<KernelGroup>> Partition(const model::Graph& graph) const override {
    return PartitionGraph(graph, {.threads = threads_});
  }

  absl::StatusOr<std::unique_ptr<CompiledKernel>> Compile(const KernelSpec& spec) const override {
    return CompileTimedKernel(spec);
  }

  absl::StatusOr<std::unique_ptr<Executable>> CompileGraph(
      const model::Graph& graph) const override {
    return CompileExecutable(graph, threads_);
  }

 private:
  const DeviceFingerprint fingerprint_;
  const int threads_;
};

}  // namespace

absl::StatusOr<std::unique_ptr<Backend>> NewBackend(int threads) {
  QUOTIENT_ASSIGN_OR_RETURN(DeviceFingerprint fingerprint, CpuFingerprint(threads));
  // A search makes more primitives than the cache holds by default (1024).
  constexpr int kPrimitiveCacheCapacity = 16384;
  dnnl_set_primitive_cache_capacity(kPrimitiveCacheCapacity);
  return std::make_unique<OneDnnBackend>(std::move(fingerprint), threads);
}

}  // namespace quotient::kernels::onednn
