#include "server/runner/counted_timings.h"

#include <map>
#include <optional>
#include <string>
#include <utility>

#include "absl/base/thread_annotations.h"
#include "absl/container/flat_hash_set.h"
#include "absl/strings/str_cat.h"
#include "absl/synchronization/mutex.h"

namespace quotient::runner {
namespace {

using timing::Timing;
using timing::TimingState;

class Counted : public CountedTimings {
 public:
  explicit Counted(std::unique_ptr<timing::TimingStore> store) : store_(std::move(store)) {}

  std::optional<Timing> Find(absl::string_view key, absl::string_view fingerprint) const override {
    std::optional<Timing> timing = store_->Find(key, fingerprint);
    // A noisy time of an earlier job is measured again, and counted then.
    if (timing.has_value() && timing->state != TimingState::kNoisy) {
      absl::MutexLock lock(&mutex_);
      if (IsNew(key, fingerprint)) ++counts_.known;
    }
    return timing;
  }

  std::map<std::string, Timing> All(absl::string_view fingerprint) const override {
    return store_->All(fingerprint);
  }

  absl::Status Add(absl::string_view key, absl::string_view fingerprint,
                   const Timing& timing) override {
    {
      absl::MutexLock lock(&mutex_);
      IsNew(key, fingerprint);
      if (timing.state == TimingState::kOk) ++counts_.measured;
      if (timing.state == TimingState::kNoisy) ++counts_.noisy;
      if (timing.state == TimingState::kUnsupported) ++counts_.unsupported;
    }
    return store_->Add(key, fingerprint, timing);
  }

  TimingCounts counts() const override {
    absl::MutexLock lock(&mutex_);
    return counts_;
  }

 private:
  // Whether the kernel was not counted before; from now on it was.
  bool IsNew(absl::string_view key, absl::string_view fingerprint) const
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_) {
    return counted_.insert(absl::StrCat(key, "\n", fingerprint)).second;
  }

  const std::unique_ptr<timing::TimingStore> store_;

  mutable absl::Mutex mutex_;
  mutable absl::flat_hash_set<std::string> counted_ ABSL_GUARDED_BY(mutex_);
  mutable TimingCounts counts_ ABSL_GUARDED_BY(mutex_);
};

}  // namespace

std::unique_ptr<CountedTimings> NewCountedTimings(std::unique_ptr<timing::TimingStore> store) {
  return std::make_unique<Counted>(std::move(store));
}

}  // namespace quotient::runner
