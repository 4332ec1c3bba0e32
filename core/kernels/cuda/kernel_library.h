#pragma once

// The kernels that a device has prepared so far: graphs that are compared share most of theirs.

#include <memory>
#include <string>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/container/flat_hash_map.h"
#include "absl/status/statusor.h"
#include "absl/synchronization/mutex.h"
#include "core/kernels/cuda/prepared_kernel.h"
#include "core/kernels/cuda/run_journal.h"

namespace quotient::kernels::cuda {

// Thread-safe: kernels are prepared outside the lock, so several threads compile at once (and what
// two want at the same time may be compiled twice).
class KernelLibrary {
 public:
  // Ways that `journal` bars are left out; it may be null.
  KernelLibrary(Gpu* gpu, MathPolicy policy, const RunJournal* journal)
      : gpu_(*gpu), policy_(policy), journal_(journal) {}

  // All ways to run a spec that can be prepared, first choice first. UNIMPLEMENTED if there is
  // none; else, if none can be prepared, the trouble that a library was in.
  absl::StatusOr<std::vector<std::shared_ptr<const PreparedKernel>>> All(const KernelSpec& spec);
  // The way of that name, as it was timed; where there is none any more (that is logged), or for
  // "", the first that can be prepared. Errors as of All.
  absl::StatusOr<std::shared_ptr<const PreparedKernel>> Get(const KernelSpec& spec,
                                                            const std::string& name);

 private:
  absl::StatusOr<std::shared_ptr<const PreparedKernel>> Prepare(const std::string& key, Way way);
  absl::StatusOr<std::vector<Way>> WaysOf(const KernelSpec& spec, const std::string& key);

  bool IsBarred(const std::string& key, const Way& way) const;

  Gpu& gpu_;
  const MathPolicy policy_;
  const RunJournal* const journal_;
  absl::Mutex mutex_;
  // What the libraries say of specs, by key: asking them takes up to a tenth of a second.
  absl::flat_hash_map<std::string, std::vector<Way>> ways_ ABSL_GUARDED_BY(mutex_);
  // By the spec's key and the way's name.
  absl::flat_hash_map<std::string, std::shared_ptr<const PreparedKernel>> prepared_
      ABSL_GUARDED_BY(mutex_);
};

}  // namespace quotient::kernels::cuda
