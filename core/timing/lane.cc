#include "core/timing/lane.h"

#include <fcntl.h>

#include <exception>
#include <optional>

#include "absl/status/statusor.h"
#include "absl/synchronization/notification.h"
#include "absl/time/time.h"
#include "core/base/clock.h"
#include "core/base/log.h"
#include "core/timing/file_lock.h"

namespace quotient::timing {

namespace {

os::Fd OpenLock(const std::string& path) {
  if (path.empty()) return {};
  absl::StatusOr<os::Fd> file = os::OpenFile(path, O_RDWR | O_CREAT);
  if (file.ok()) return *std::move(file);
  Log().warn("jobs that run at once may disturb each other's timings: {}",
             std::string(file.status().message()));
  return {};
}

}  // namespace

struct Lane::Task {
  absl::FunctionRef<void()> work;
  std::exception_ptr thrown;  // Exception that left `work`; rethrown on the caller's thread.
  absl::Notification done;
};

// A turn among the lanes of all processes. Whoever waits has the lock of the next one meanwhile, so
// that a lane that ends its turn cannot begin another one before.
class Lane::Turn {
 public:
  explicit Turn(Lane* lane) {
    if (!lane->lock_file_.valid()) return;
    lane->waits_ = true;
    const int64_t start_ns = Clock::System().NowNs();
    std::optional<FileLock> next;
    if (lane->next_file_.valid()) next.emplace(lane->next_file_.get());
    lock_.emplace(lane->lock_file_.get());
    lane->waited_ns_ += Clock::System().NowNs() - start_ns;
    lane->waits_ = false;
  }

 private:
  std::optional<FileLock> lock_;
};

Lane::Lane(const std::string& lock_file)
    : lock_file_(OpenLock(lock_file)),
      next_file_(lock_file_.valid() ? OpenLock(lock_file + ".next") : os::Fd()),
      thread_([this] { RunTasks(); }) {}

Lane::~Lane() {
  const MonotonicMutexLock lock(&mutex_);
  ending_ = true;
}

void Lane::Run(absl::FunctionRef<void()> work) {
  Task task{work, nullptr, {}};
  {
    const MonotonicMutexLock lock(&mutex_);
    tasks_.push_back(&task);
  }
  Await(task);
}

void Lane::RunUrgent(absl::FunctionRef<void()> work) {
  Task task{work, nullptr, {}};
  {
    const MonotonicMutexLock lock(&mutex_);
    urgent_.push_back(&task);
  }
  Await(task);
}

bool Lane::HasUrgent() const {
  const MonotonicMutexLock lock(&mutex_);
  return !urgent_.empty();
}

void Lane::AwaitNoQuiet(const StopCondition& stop) const {
  const absl::Duration step = absl::Milliseconds(20);
  const MonotonicMutexLock lock(&mutex_);
  const auto none = [this]() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_) { return num_quiet_ == 0; };
  while (!stop.ShouldStop() && !mutex_.AwaitFor(none, step)) {
  }
}

void Lane::AddQuiet(int count) {
  const MonotonicMutexLock lock(&mutex_);
  num_quiet_ += count;
}

void Lane::Await(Task& task) {
  task.done.WaitForNotification();
  if (task.thrown != nullptr) std::rethrow_exception(task.thrown);
}

void Lane::RunTasks() {
  while (Task* const task = Next()) {
    {
      const Turn turn(this);
      try {
        task->work();
      } catch (...) {
        task->thrown = std::current_exception();
      }
    }
    task->done.Notify();
  }
}

Lane::Task* Lane::Next() {
  const MonotonicMutexLock lock(&mutex_);
  const auto any = [this]() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_) {
    return ending_ || !tasks_.empty() || !urgent_.empty();
  };
  mutex_.Await(any);
  std::deque<Task*>& queue = urgent_.empty() ? tasks_ : urgent_;
  if (queue.empty()) return nullptr;
  Task* const task = queue.front();
  queue.pop_front();
  return task;
}

}  // namespace quotient::timing
