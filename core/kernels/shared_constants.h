#pragma once

// Packed constants by content. Graphs that are compared share most of their weights and are in
// memory at the same time, so the executables of a backend share what they pack.

#include <algorithm>
#include <cstddef>
#include <memory>
#include <span>

#include "absl/base/thread_annotations.h"
#include "absl/container/flat_hash_map.h"
#include "absl/status/statusor.h"
#include "absl/synchronization/mutex.h"
#include "core/base/digest.h"

namespace quotient::kernels {

// `Buffer` is memory of a device. Thread-safe.
template <typename Buffer>
class SharedConstants {
 public:
  // Read-only memory with that content, which lives as long as it is referenced. If there is none,
  // it is `make(bytes)`, a StatusOr<shared_ptr<const Buffer>>; others wait meanwhile, so that
  // nothing is made twice.
  template <typename Make>
  absl::StatusOr<std::shared_ptr<const Buffer>> Get(std::span<const std::byte> bytes,
                                                    const Make& make) ABSL_LOCKS_EXCLUDED(mutex_) {
    const Digest digest = Digest::Of(bytes);
    const absl::MutexLock lock(&mutex_);
    if (const auto found = buffers_.find(digest); found != buffers_.end()) {
      if (std::shared_ptr<const Buffer> buffer = found->second.lock()) return buffer;
    }
    absl::StatusOr<std::shared_ptr<const Buffer>> made = make(bytes);
    if (!made.ok()) return made;
    if (buffers_.size() >= forget_at_) ForgetFreed();
    buffers_[digest] = *made;
    return made;
  }

 private:
  // Doubling what is waited for makes this cheap, however many constants there are.
  void ForgetFreed() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_) {
    constexpr size_t kFew = 64;
    absl::erase_if(buffers_, [](const auto& entry) { return entry.second.expired(); });
    forget_at_ = std::max(kFew, 2 * buffers_.size());
  }

  absl::Mutex mutex_;
  absl::flat_hash_map<Digest, std::weak_ptr<const Buffer>> buffers_ ABSL_GUARDED_BY(mutex_);
  size_t forget_at_ ABSL_GUARDED_BY(mutex_) = 0;  // Size at which freed ones are looked for.
};

}  // namespace quotient::kernels
