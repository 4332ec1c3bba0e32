#include "core/timing/memory_store.h"

namespace quotient::timing {

std::optional<Timing> MemoryStore::Find(absl::string_view key,
                                        absl::string_view fingerprint) const {
  const absl::ReaderMutexLock lock(&mutex_);
  const auto of_device = by_fingerprint_.find(fingerprint);
  if (of_device == by_fingerprint_.end()) return std::nullopt;
  const auto found = of_device->second.find(key);
  if (found == of_device->second.end()) return std::nullopt;
  return found->second;
}

std::map<std::string, Timing> MemoryStore::All(absl::string_view fingerprint) const {
  const absl::ReaderMutexLock lock(&mutex_);
  const auto of_device = by_fingerprint_.find(fingerprint);
  if (of_device == by_fingerprint_.end()) return {};
  return {of_device->second.begin(), of_device->second.end()};
}

absl::Status MemoryStore::Add(absl::string_view key, absl::string_view fingerprint,
                              const Timing& timing) {
  const absl::MutexLock lock(&mutex_);
  const auto [entry, fresh] = by_fingerprint_[fingerprint].try_emplace(key, timing);
  if (!fresh && IsBetter(timing, entry->second)) entry->second = timing;
  return absl::OkStatus();
}

bool IsBetter(const Timing& a, const Timing& b) {
  if (!a.has_time() || !b.has_time()) return a.has_time() && !b.has_time();
  if (a.state != b.state) return a.state == TimingState::kOk;
  return a.min_us < b.min_us;
}

std::unique_ptr<TimingStore> NewMemoryStore() { return std::make_unique<MemoryStore>(); }

}  // namespace quotient::timing
