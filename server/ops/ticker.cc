#include "server/ops/ticker.h"

#include <algorithm>
#include <cstdint>
#include <utility>

#include "core/base/clock.h"

namespace quotient::ops {

Ticker::Ticker(std::vector<Task> tasks) : tasks_(std::move(tasks)), thread_([this] { Run(); }) {}

Ticker::~Ticker() { stop_.Set(); }

void Ticker::Run() {
  const Clock& clock = Clock::System();
  std::vector<int64_t> due_ns;
  for (const Task& task : tasks_) {
    due_ns.push_back(clock.NowNs() + absl::ToInt64Nanoseconds(task.first.value_or(task.period)));
  }
  for (;;) {
    const int64_t next_ns = *std::min_element(due_ns.begin(), due_ns.end());
    if (stop_.AwaitFor(absl::Nanoseconds(next_ns - clock.NowNs()))) return;
    for (size_t i = 0; i < tasks_.size(); ++i) {
      if (clock.NowNs() < due_ns[i]) continue;
      tasks_[i].run();
      due_ns[i] = clock.NowNs() + absl::ToInt64Nanoseconds(tasks_[i].period);
    }
  }
}

}  // namespace quotient::ops
