#include "core/timing/lane.h"

#include <deque>
#include <exception>
#include <thread>

#include "absl/base/thread_annotations.h"
#include "absl/synchronization/mutex.h"
#include "absl/synchronization/notification.h"

namespace quotient::timing {
namespace {

struct Task {
  absl::FunctionRef<void()> work;
  std::exception_ptr thrown;  // Exception that left `work`; rethrown on the caller's thread.
  absl::Notification done;
};

class Lane {
 public:
  Lane() {
    std::thread([this] { RunForEver(); }).detach();
  }

  void Run(absl::FunctionRef<void()> work) {
    Task task{work, nullptr, {}};
    {
      const absl::MutexLock lock(&mutex_);
      tasks_.push_back(&task);
    }
    task.done.WaitForNotification();
    if (task.thrown != nullptr) std::rethrow_exception(task.thrown);
  }

 private:
  void RunForEver() {
    while (true) {
      Task* const task = Next();
      try {
        task->work();
      } catch (...) {
        task->thrown = std::current_exception();
      }
      task->done.Notify();
    }
  }

  Task* Next() {
    const absl::MutexLock lock(&mutex_);
    const auto any = [this]() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_) { return !tasks_.empty(); };
    mutex_.Await(absl::Condition(&any));
    Task* const task = tasks_.front();
    tasks_.pop_front();
    return task;
  }

  absl::Mutex mutex_;
  std::deque<Task*> tasks_ ABSL_GUARDED_BY(mutex_);
};

}  // namespace

void RunInLane(absl::FunctionRef<void()> work) {
  static Lane& lane = *new Lane;  // Never deleted: its thread runs until the process ends.
  lane.Run(work);
}

}  // namespace quotient::timing
