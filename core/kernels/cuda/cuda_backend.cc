#include "core/kernels/cuda/cuda_backend.h"

#include <utility>
#include <vector>

#include "core/base/status_macros.h"
#include "core/kernels/cuda/agreement.h"
#include "core/kernels/cuda/clock_watch.h"
#include "core/kernels/cuda/code_folder.h"
#include "core/kernels/cuda/constant_pool.h"
#include "core/kernels/cuda/executable.h"
#include "core/kernels/cuda/fingerprint.h"
#include "core/kernels/cuda/kernel_library.h"
#include "core/kernels/cuda/load_plugin.h"
#include "core/kernels/cuda/random_pool.h"
#include "core/kernels/cuda/run_journal.h"
#include "core/kernels/cuda/timed_kernel.h"

namespace quotient::kernels::cuda {
namespace {

class CudaBackend : public Backend {
 public:
  // `cache` may be null; the GPU borrows it.
  CudaBackend(std::unique_ptr<CodeCache> cache, std::unique_ptr<Gpu> gpu,
              const CudaOptions& options)
      : options_(options),
        cache_(std::move(cache)),
        gpu_(std::move(gpu)),
        fingerprint_(GpuFingerprint(gpu_->facts(), options.policy)),
        journal_(options.cache_directory.empty()
                     ? nullptr
                     : OpenRunJournal(options.cache_directory, fingerprint_.text)),
        clock_(gpu_.get()),
        library_(gpu_.get(), options.policy, journal_.get(), options.compile_threads),
        constants_(gpu_.get()),
        pool_(gpu_.get()) {}

  const DeviceFingerprint& fingerprint() const override { return fingerprint_; }
  const PartitionOptions& partition() const override { return partition_; }

  absl::Status health() const override { return gpu_->health(); }

  void Prepare(std::span<const KernelSpec> specs, const StopCondition& stop) const override {
    library_.Prepare(specs, stop);
  }

  absl::StatusOr<std::vector<std::unique_ptr<CompiledKernel>>> Compile(
      const KernelSpec& spec) const override {
    QUOTIENT_ASSIGN_OR_RETURN(auto prepared, library_.All(spec));
    QUOTIENT_ASSIGN_OR_RETURN(prepared, ThoseThatAgree(spec, options_.policy, std::move(prepared),
                                                       gpu_.get(), journal_.get()));
    return NewTimedKernels(spec, prepared, {gpu_.get(), &pool_, &clock_, journal_.get()});
  }

  absl::StatusOr<std::unique_ptr<Executable>> CompileGraph(const model::Graph& graph,
                                                           const PlanChoice& plans) const override {
    return CompileExecutable(graph, partition_, plans, options_.lanes,
                             {gpu_.get(), &library_, &constants_, &clock_, journal_.get()});
  }

 private:
  const CudaOptions options_;
  const std::unique_ptr<CodeCache> cache_;
  const std::unique_ptr<Gpu> gpu_;
  const DeviceFingerprint fingerprint_;
  const PartitionOptions partition_{.storage = Storage::kNative, .fuses_attention = true};
  const std::unique_ptr<RunJournal> journal_;  // Null if none is kept.
  // All are thread-safe. What they keep does not change results.
  mutable GpuClock clock_;
  mutable KernelLibrary library_;
  mutable ConstantPool constants_;
  mutable RandomPool pool_;
};

}  // namespace

absl::StatusOr<std::unique_ptr<Backend>> NewBackend(int ordinal, const CudaOptions& options) {
  QUOTIENT_ASSIGN_OR_RETURN(Plugin* const plugin, LoadPlugin(options.plugin));
  std::unique_ptr<CodeCache> cache;
  if (!options.cache_directory.empty()) cache = OpenCodeCache(options.cache_directory);
  QUOTIENT_ASSIGN_OR_RETURN(std::unique_ptr<Gpu> gpu,
                            plugin->OpenGpu(ordinal, options.tf32_override, cache.get()));
  return std::make_unique<CudaBackend>(std::move(cache), std::move(gpu), options);
}

std::unique_ptr<Backend> NewBackend(std::unique_ptr<Gpu> gpu, const CudaOptions& options) {
  return std::make_unique<CudaBackend>(/*cache=*/nullptr, std::move(gpu), options);
}

}  // namespace quotient::kernels::cuda
