#include "server/ops/ticker.h"

#include <algorithm>
#include <utility>

namespace quotient::ops {

Ticker::Ticker(std::vector<Task> tasks) : tasks_(std::move(tasks)), thread_([this] { Run(); }) {}

Ticker::~Ticker() {
  absl::MutexLock lock(&mutex_);
  stop_ = true;
}

void Ticker::Run() {
  std::vector<absl::Time> due;
  for (const Task& task : tasks_) due.push_back(absl::Now() + task.first.value_or(task.period));
  for (;;) {
    const absl::Time next = *std::min_element(due.begin(), due.end());
    {
      absl::MutexLock lock(&mutex_);
      if (mutex_.AwaitWithDeadline(absl::Condition(&stop_), next)) return;
    }
    for (size_t i = 0; i < tasks_.size(); ++i) {
      if (absl::Now() < due[i]) continue;
      tasks_[i].run();
      due[i] = absl::Now() + tasks_[i].period;
    }
  }
}

}  // namespace quotient::ops
