#pragma once

// The kernels of a model's file: the nodes of the graph that ONNX Runtime makes of it, and their
// operands in one run of it.

#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/container/flat_hash_map.h"
#include "absl/status/statusor.h"
#include "absl/synchronization/mutex.h"
#include "core/kernels/backend.h"
#include "core/kernels/onnxruntime/helper_client.h"

namespace quotient::kernels::onnxruntime {

// Where kernels find operands of a model that is being priced. Thread-safe.
class OperandBook {
 public:
  // The values that a node of a traced graph reads; "" for one that is left out.
  struct Operands {
    StoreId store;
    std::vector<std::string> values;
  };
  // Keeps what was there before for this key.
  void Add(const std::string& key, Operands operands) ABSL_LOCKS_EXCLUDED(mutex_);
  std::optional<Operands> Find(const std::string& key) const ABSL_LOCKS_EXCLUDED(mutex_);
  // Forgets all operands in a store.
  void Forget(StoreId store) ABSL_LOCKS_EXCLUDED(mutex_);

 private:
  mutable absl::Mutex mutex_;
  absl::flat_hash_map<std::string, Operands> by_key_ ABSL_GUARDED_BY(mutex_);
};

// Runs the file once on these inputs and lists its kernels. It is run a few nodes at a time, so
// that its values are not in memory all at once. Borrows client and book, which must outlive
// FileKernels::operands. `footprint_log2` is as for Backend::KernelsOfFile. Fails as HelperClient
// does, and with INTERNAL if the graph cannot be read.
absl::StatusOr<FileKernels> TraceFile(HelperClient* client, OperandBook* book,
                                      const ModelFile& file, std::span<const NamedTensor> inputs,
                                      int threads, int footprint_log2);

}  // namespace quotient::kernels::onnxruntime
