#include "core/kernels/onednn/onednn_backend.h"

#include <dnnl.h>

#include <utility>
#include <vector>

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
      : fingerprint_(std::move(fingerprint)), partition_{.threads = threads} {}

  const DeviceFingerprint& fingerprint() const override { return fingerprint_; }

  const PartitionOptions& partition() const override { return partition_; }

  absl::StatusOr<std::vector<std::unique_ptr<CompiledKernel>>> Compile(
      const KernelSpec& spec) const override {
    std::vector<std::unique_ptr<CompiledKernel>> only(1);
    QUOTIENT_ASSIGN_OR_RETURN(only[0], CompileTimedKernel(spec));
    return only;
  }

  absl::StatusOr<std::unique_ptr<Executable>> CompileGraph(const model::Graph& graph,
                                                           const PlanChoice&) const override {
    // Graphs are compiled when kernels have been timed, and take memory for weights of their own.
    ReleaseRandomWeights();
    return CompileExecutable(graph, partition_, constants_);
  }

 private:
  const DeviceFingerprint fingerprint_;
  const PartitionOptions partition_;
  mutable ConstantPool constants_;  // Thread-safe.
};

}  // namespace

absl::StatusOr<std::unique_ptr<Backend>> NewBackend(int threads,
                                                    const os::Environment& environment) {
  QUOTIENT_ASSIGN_OR_RETURN(DeviceFingerprint fingerprint, CpuFingerprint(threads, environment));
  // A search makes more primitives than the cache holds by default (1024).
  constexpr int kPrimitiveCacheCapacity = 16384;
  dnnl_set_primitive_cache_capacity(kPrimitiveCacheCapacity);
  return std::make_unique<OneDnnBackend>(std::move(fingerprint), threads);
}

}  // namespace quotient::kernels::onednn
