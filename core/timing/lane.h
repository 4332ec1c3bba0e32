#pragma once

// The timing lane: the one thread of a process on which kernels are compiled and run, so that two
// measurements never disturb each other. A program makes one and hands it to everything that
// measures.
//
// The lane is a thread rather than a lock because libgomp keeps a pool of threads for every thread
// that opens a parallel region. As soon as all pools together have more threads than the machine
// has cores, threads no longer spin at barriers (throttled_spin_count in libgomp's wait.h), and
// kernels on several threads take 1.5 times as long.
//
// Lanes of several processes exclude each other by a file.

#include <atomic>
#include <cstdint>
#include <deque>
#include <string>
#include <thread>

#include "absl/base/thread_annotations.h"
#include "absl/functional/function_ref.h"
#include "core/base/monotonic_mutex.h"
#include "core/base/stop.h"
#include "core/os/files.h"

namespace quotient::timing {

// Thread-safe.
class Lane {
 public:
  // Lanes of all processes with the same `lock_file` take turns, task by task and in the order in
  // which they ask; what is urgent in one is not so in the others. The file, and another one beside
  // it, are made if they are missing. If the name is empty, or they cannot be opened, the lane
  // takes turns with no other.
  explicit Lane(const std::string& lock_file = "");
  // No call of Run may be in progress.
  ~Lane();
  Lane(const Lane&) = delete;
  Lane& operator=(const Lane&) = delete;

  // Runs `work` on the lane's thread, in order of arrival, and blocks until it has finished. An
  // exception that `work` throws is rethrown here. Must not be called from within the lane, where
  // it would deadlock.
  void Run(absl::FunctionRef<void()> work) ABSL_LOCKS_EXCLUDED(mutex_);
  // As Run, but before all work that waits in Run. For work with a deadline.
  void RunUrgent(absl::FunctionRef<void()> work) ABSL_LOCKS_EXCLUDED(mutex_);
  // Whether a caller waits in RunUrgent. Work that takes long should check this now and then, and
  // leave the rest of what it does for later.
  bool HasUrgent() const ABSL_LOCKS_EXCLUDED(mutex_);
  // Whether a lane of another process has its turn while this one has something to do.
  bool waits() const { return waits_; }
  // For how long that was so until now, but for a turn that is still waited for.
  double waited_seconds() const { return 1e-9 * static_cast<double>(waited_ns_); }

  // While one exists, what runs in the lane would be disturbed by computations on other threads.
  class Quiet {
   public:
    explicit Quiet(Lane* lane) : lane_(*lane) { lane_.AddQuiet(1); }
    ~Quiet() { lane_.AddQuiet(-1); }
    Quiet(const Quiet&) = delete;
    Quiet& operator=(const Quiet&) = delete;

   private:
    Lane& lane_;
  };
  // Blocks while a Quiet exists, or until `stop`. Threads that compute for long call this now and
  // then; from within the lane it would block until `stop`.
  void AwaitNoQuiet(const StopCondition& stop) const ABSL_LOCKS_EXCLUDED(mutex_);

 private:
  struct Task;

  // Blocks until a task that is queued has finished; rethrows what it threw.
  static void Await(Task& task);
  void RunTasks() ABSL_LOCKS_EXCLUDED(mutex_);
  // Blocks until there is a task. Null when the lane ends.
  Task* Next() ABSL_LOCKS_EXCLUDED(mutex_);
  void AddQuiet(int count) ABSL_LOCKS_EXCLUDED(mutex_);

  mutable MonotonicMutex mutex_;
  std::deque<Task*> tasks_ ABSL_GUARDED_BY(mutex_);
  std::deque<Task*> urgent_ ABSL_GUARDED_BY(mutex_);  // Run before tasks_.
  bool ending_ ABSL_GUARDED_BY(mutex_) = false;
  int num_quiet_ ABSL_GUARDED_BY(mutex_) = 0;  // The number of Quiet objects.

  class Turn;
  const os::Fd lock_file_;  // Not valid if there is none.
  const os::Fd next_file_;  // Locked by the lane that is next; valid if lock_file_ is.
  std::atomic<bool> waits_ = false;
  std::atomic<int64_t> waited_ns_ = 0;

  std::jthread thread_;  // Declared last: uses all of the above.
};

}  // namespace quotient::timing
