#pragma once

// Whether the server is ready for jobs: what stands against it. The metrics, the health service and
// the page /readyz tell so.

#include <functional>
#include <map>
#include <string>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/strings/string_view.h"
#include "absl/synchronization/mutex.h"
#include "server/ops/metrics.h"

namespace quotient::ops {

// Thread-safe.
class Readiness {
 public:
  enum class Obstacle {
    kStarting,  // From the beginning.
    kStorage,   // Results cannot be stored.
    kDraining,  // The server was told to end.
  };

  // Borrows the metrics.
  explicit Readiness(Metrics* metrics);

  // `tell` is told now, and at each change, whether the server is ready.
  void TellTo(std::function<void(bool ready)> tell) ABSL_LOCKS_EXCLUDED(mutex_);
  // `why` is for people; empty if the obstacle says all.
  void Set(Obstacle obstacle, bool present, absl::string_view why = "") ABSL_LOCKS_EXCLUDED(mutex_);
  // The names of what stands against it now: "starting", "storage", "draining", each with the
  // reason, if there is one, as "storage: the disk is full". None if the server is ready.
  std::vector<std::string> obstacles() const ABSL_LOCKS_EXCLUDED(mutex_);
  // Why results cannot be stored now; empty if they can.
  std::string StorageFailure() const ABSL_LOCKS_EXCLUDED(mutex_);

 private:
  void Publish() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);

  Metrics& metrics_;

  // Held while others are told, so that they hear of changes in order.
  mutable absl::Mutex mutex_;
  // With the reasons.
  std::map<Obstacle, std::string> obstacles_ ABSL_GUARDED_BY(mutex_) = {{Obstacle::kStarting, ""}};
  std::function<void(bool)> tell_ ABSL_GUARDED_BY(mutex_) = [](bool) {};
};

}  // namespace quotient::ops
