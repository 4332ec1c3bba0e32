#pragma once

// A CodeCache in memory that tests can inspect.

#include <map>
#include <optional>
#include <string>

#include "absl/base/thread_annotations.h"
#include "absl/synchronization/mutex.h"
#include "core/kernels/cuda/interface/code_cache.h"

namespace quotient::kernels::cuda {

class MemoryCodeCache : public CodeCache {
 public:
  std::optional<std::string> Find(const std::string& key) override {
    const absl::MutexLock lock(&mutex_);
    const auto found = entries_.find(key);
    return found == entries_.end() ? std::nullopt : std::optional(found->second);
  }
  void Add(const std::string& key, const std::string& bytes) override {
    const absl::MutexLock lock(&mutex_);
    entries_[key] = bytes;
    ++added_;
  }

  std::map<std::string, std::string> entries() const {
    const absl::MutexLock lock(&mutex_);
    return entries_;
  }
  // The number of calls of Add.
  int added() const {
    const absl::MutexLock lock(&mutex_);
    return added_;
  }

 private:
  mutable absl::Mutex mutex_;
  std::map<std::string, std::string> entries_ ABSL_GUARDED_BY(mutex_);
  int added_ ABSL_GUARDED_BY(mutex_) = 0;
};

}  // namespace quotient::kernels::cuda
