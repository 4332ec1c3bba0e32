#pragma once

// The packed constants of all executables of a backend. Graphs that are compared share most of
// their weights and are in memory at the same time, so equal constants are packed once and kept
// once.

#include <algorithm>
#include <cstddef>
#include <memory>
#include <optional>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/container/flat_hash_map.h"
#include "absl/synchronization/mutex.h"
#include "core/base/digest.h"
#include "core/kernels/shared_constants.h"

namespace quotient::kernels::onednn {

// Of one kernel, parallel to its `constants()`. They live as long as they are referenced.
using PackedConstants = std::vector<std::shared_ptr<const std::byte>>;

// Thread-safe.
class ConstantPool {
 public:
  // What was kept for `recipe`, which says how constants are packed and of what, if all of it is
  // still alive. Packing takes memory of its own and reads the weights again, so this comes first.
  std::optional<PackedConstants> Find(const Digest& recipe) ABSL_LOCKS_EXCLUDED(mutex_);
  void Keep(const Digest& recipe, const PackedConstants& constants) ABSL_LOCKS_EXCLUDED(mutex_);

  // Different recipes may give the same content, which is in memory once.
  SharedConstants<std::byte>& by_content() { return by_content_; }

 private:
  using Weak = std::vector<std::weak_ptr<const std::byte>>;

  static std::optional<PackedConstants> Lock(const Weak& weak);

  SharedConstants<std::byte> by_content_;
  absl::Mutex mutex_;
  absl::flat_hash_map<Digest, Weak> by_recipe_ ABSL_GUARDED_BY(mutex_);
  size_t forget_at_ ABSL_GUARDED_BY(mutex_) = 64;  // Size at which freed ones are looked for.
};

}  // namespace quotient::kernels::onednn
