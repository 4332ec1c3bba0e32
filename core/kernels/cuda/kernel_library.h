#pragma once

// The kernels that a device has prepared so far. Graphs that are compared share most of theirs.

#include <functional>
#include <memory>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/container/flat_hash_map.h"
#include "absl/status/statusor.h"
#include "absl/synchronization/mutex.h"
#include "core/base/stop.h"
#include "core/kernels/cuda/prepared_kernel.h"
#include "core/kernels/cuda/run_journal.h"

namespace quotient::kernels::cuda {

// The beginning of warnings that a library failed otherwise than by not supporting something, or
// that one of its plans does not run. The other ways to run the kernel are used, but a check of a
// machine (tests/gpu.sh) must not pass.
inline constexpr char kLibraryTrouble[] = "trouble of a library: ";

// Thread-safe. Kernels are prepared outside the lock, so several threads compile at once, and two
// threads may compile the same kernel.
class KernelLibrary {
 public:
  // Leaves out the ways that `journal`, which may be null, bars. Compiles on up to `threads`
  // threads where it is asked for several kernels at once.
  KernelLibrary(Gpu* gpu, MathPolicy policy, const RunJournal* journal, int threads)
      : gpu_(*gpu), policy_(policy), journal_(journal), threads_(threads) {}

  // Compiles all ways to run these specs until `stop` is set. All reports the errors.
  void Prepare(std::span<const KernelSpec> specs, const StopCondition& stop);

  // All ways to run a spec that can be prepared, first choice first. Fails with UNIMPLEMENTED if
  // there is none; if there are ways but none can be prepared, with the library's error.
  absl::StatusOr<std::vector<std::shared_ptr<const PreparedKernel>>> All(const KernelSpec& spec);
  // The way with the name under which it was timed. If it no longer exists (which is logged), or
  // for "", the first one that can be prepared. Fails like All.
  absl::StatusOr<std::shared_ptr<const PreparedKernel>> Get(const KernelSpec& spec,
                                                            const std::string& name);
  // Get for each of these, in their order.
  using Named = std::pair<const KernelSpec*, std::string>;
  std::vector<absl::StatusOr<std::shared_ptr<const PreparedKernel>>> GetAll(
      std::span<const Named> named);

 private:
  absl::StatusOr<std::shared_ptr<const PreparedKernel>> Prepare(const std::string& key, Way way);
  absl::StatusOr<std::vector<Way>> WaysOf(const KernelSpec& spec, const std::string& key);

  bool IsBarred(const std::string& key, const Way& way) const;

  // Calls `work` with all numbers below `count`, on several threads.
  void ForEach(size_t count, const std::function<void(size_t)>& work) const;

  Gpu& gpu_;
  const MathPolicy policy_;
  const RunJournal* const journal_;
  const int threads_;
  absl::Mutex mutex_;
  // The libraries' answers for specs, by key: asking takes up to a tenth of a second.
  absl::flat_hash_map<std::string, std::vector<Way>> ways_ ABSL_GUARDED_BY(mutex_);
  // By the spec's key and the way's name.
  absl::flat_hash_map<std::string, std::shared_ptr<const PreparedKernel>> prepared_
      ABSL_GUARDED_BY(mutex_);
};

}  // namespace quotient::kernels::cuda
