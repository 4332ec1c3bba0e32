#pragma once

// MemoryStore keeps timings in memory. The file store answers its queries from one, too.

#include <map>
#include <optional>
#include <string>

#include "absl/container/flat_hash_map.h"
#include "absl/synchronization/mutex.h"
#include "core/timing/store.h"

namespace quotient::timing {

class MemoryStore : public TimingStore {
 public:
  std::optional<Timing> Find(absl::string_view key, absl::string_view fingerprint) const override;
  std::map<std::string, Timing> All(absl::string_view fingerprint) const override;
  absl::Status Add(absl::string_view key, absl::string_view fingerprint,
                   const Timing& timing) override;

 private:
  mutable absl::Mutex mutex_;
  using ByKey = absl::flat_hash_map<std::string, Timing>;
  absl::flat_hash_map<std::string, ByKey> by_fingerprint_ ABSL_GUARDED_BY(mutex_);
};

}  // namespace quotient::timing
