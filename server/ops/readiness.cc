#include "server/ops/readiness.h"

#include <utility>

#include "absl/strings/str_cat.h"

namespace quotient::ops {
namespace {

const char* NameOf(Readiness::Obstacle obstacle) {
  switch (obstacle) {
    case Readiness::Obstacle::kStarting:
      return "starting";
    case Readiness::Obstacle::kStorage:
      return "storage";
    case Readiness::Obstacle::kDraining:
      return "draining";
  }
  return "";
}

}  // namespace

Readiness::Readiness(Metrics* metrics) : metrics_(*metrics) {
  absl::MutexLock lock(&mutex_);
  Publish();
}

void Readiness::TellTo(std::function<void(bool ready)> tell) {
  absl::MutexLock lock(&mutex_);
  tell_ = std::move(tell);
  Publish();
}

void Readiness::Set(Obstacle obstacle, bool present, absl::string_view why) {
  absl::MutexLock lock(&mutex_);
  if (present) {
    obstacles_[obstacle] = std::string(why);
  } else {
    obstacles_.erase(obstacle);
  }
  Publish();
}

std::vector<std::string> Readiness::obstacles() const {
  absl::MutexLock lock(&mutex_);
  std::vector<std::string> names;
  for (const auto& [obstacle, why] : obstacles_) {
    names.push_back(absl::StrCat(NameOf(obstacle), why.empty() ? "" : ": ", why));
  }
  return names;
}

std::string Readiness::StorageFailure() const {
  absl::MutexLock lock(&mutex_);
  const auto found = obstacles_.find(Obstacle::kStorage);
  return found == obstacles_.end() ? "" : found->second;
}

void Readiness::Publish() {
  metrics_.Set(MetricId::kReady, {}, obstacles_.empty() ? 1 : 0);
  metrics_.Set(MetricId::kStorageUp, {}, obstacles_.contains(Obstacle::kStorage) ? 0 : 1);
  metrics_.Set(MetricId::kDraining, {}, obstacles_.contains(Obstacle::kDraining) ? 1 : 0);
  tell_(obstacles_.empty());
}

}  // namespace quotient::ops
