#include "core/timing/memory_store.h"

#include "absl/strings/str_cat.h"

namespace quotient::timing {
namespace {

// Fingerprints are one line of text, so no two pairs make the same word.
std::string Word(absl::string_view key, absl::string_view fingerprint) {
  return absl::StrCat(fingerprint, "\n", key);
}

}  // namespace

const Timing& Better(const Timing& a, const Timing& b) {
  if (a.has_time() != b.has_time()) return a.has_time() ? a : b;
  return b.min_us < a.min_us ? b : a;
}

std::optional<Timing> MemoryStore::Find(absl::string_view key,
                                        absl::string_view fingerprint) const {
  const absl::ReaderMutexLock lock(&mutex_);
  const auto found = timings_.find(Word(key, fingerprint));
  if (found == timings_.end()) return std::nullopt;
  return found->second;
}

absl::Status MemoryStore::Add(absl::string_view key, absl::string_view fingerprint,
                              const Timing& timing) {
  const absl::MutexLock lock(&mutex_);
  const auto [entry, fresh] = timings_.try_emplace(Word(key, fingerprint), timing);
  if (!fresh) entry->second = Better(entry->second, timing);
  return absl::OkStatus();
}

bool IsBetter(const Timing& a, const Timing& b) {
  if (!a.has_time() || !b.has_time()) return a.has_time() && !b.has_time();
  if (a.state != b.state) return a.state == TimingState::kOk;
  return a.min_us < b.min_us;
}

std::unique_ptr<TimingStore> NewMemoryStore() { return std::make_unique<MemoryStore>(); }

}  // namespace quotient::timing
