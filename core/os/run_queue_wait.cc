#include "core/os/run_queue_wait.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <array>
#include <filesystem>
#include <optional>
#include <system_error>
#include <vector>

#include "absl/strings/numbers.h"
#include "absl/strings/str_split.h"
#include "core/base/clock.h"

namespace quotient::os {
namespace {

constexpr char kTasks[] = "/proc/self/task";

// Returns the link count of the task directory, which is the number of threads plus two.
uint64_t CountThreads() {
  struct stat status;
  return stat(kTasks, &status) == 0 ? status.st_nlink : 0;
}

// Returns the second field of a schedstat file, "RUNNING_NS WAITING_NS TIMESLICES\n".
int64_t WaitingNs(int file) {
  std::array<char, 96> text;
  const ssize_t size = pread(file, text.data(), text.size(), 0);
  if (size <= 0) return 0;  // The thread has ended.
  const std::vector<absl::string_view> figures =
      absl::StrSplit(absl::string_view(text.data(), static_cast<size_t>(size)), ' ');
  int64_t waiting = 0;
  return figures.size() > 1 && absl::SimpleAtoi(figures[1], &waiting) ? waiting : 0;
}

// Returns the state in a stat file, "PID (NAME) STATE ...". The name may have parentheses, too.
char State(int file) {
  std::array<char, 64> text;
  const ssize_t size = pread(file, text.data(), text.size(), 0);
  if (size <= 0) return 0;
  const absl::string_view read(text.data(), static_cast<size_t>(size));
  const size_t name_end = read.rfind(") ");
  return name_end == absl::string_view::npos || name_end + 2 >= read.size() ? 0
                                                                            : read[name_end + 2];
}

// The clock of a thread's CPU time, as pthread_getcpuclockid makes it of the thread's id in Linux.
clockid_t CpuClockOf(pid_t thread) {
  constexpr int kOfOneThread = 4;
  constexpr int kBySchedule = 2;
  return static_cast<clockid_t>((~static_cast<unsigned>(thread) << 3) | kOfOneThread | kBySchedule);
}

std::optional<int64_t> CpuNs(clockid_t clock) {
  timespec time;
  if (clock_gettime(clock, &time) != 0) return std::nullopt;  // The thread has ended.
  return int64_t{time.tv_sec} * 1'000'000'000 + time.tv_nsec;
}

// Whether the calling thread's clock advances whenever it computes for a moment.
bool AreCpuClocksFine() {
  constexpr int64_t kMomentNs = 5'000;
  const clockid_t clock = CpuClockOf(gettid());
  for (int attempt = 0; attempt < 3; ++attempt) {
    const std::optional<int64_t> before = CpuNs(clock);
    const int64_t start_ns = Clock::System().NowNs();
    while (Clock::System().NowNs() < start_ns + kMomentNs) {
    }
    if (!before.has_value() || CpuNs(clock) <= before) return false;
  }
  return true;
}

}  // namespace

RunQueueWait::~RunQueueWait() { Close(); }

int64_t RunQueueWait::TotalNs() {
  FindNewThreads();
  int64_t total = 0;
  for (const Thread& thread : threads_) total += WaitingNs(thread.schedstat);
  return total;
}

bool RunQueueWait::CanSeeWaits() {
  static const bool are_clocks_fine = AreCpuClocksFine();
  return are_clocks_fine;
}

bool RunQueueWait::IsAnyWaiting() {
  if (!CanSeeWaits()) return false;
  FindNewThreads();
  std::vector<std::optional<int64_t>> used;
  for (const Thread& thread : threads_) used.push_back(CpuNs(thread.cpu_clock));
  const pid_t self = gettid();
  for (size_t i = 0; i < threads_.size(); ++i) {
    const Thread& thread = threads_[i];
    // A thread that has a core uses it.
    if (thread.id == self || CpuNs(thread.cpu_clock) != used[i]) continue;
    constexpr char kReadyToRun = 'R';
    if (State(thread.stat) == kReadyToRun) return true;
  }
  return false;
}

void RunQueueWait::FindNewThreads() {
  const uint64_t threads = CountThreads();
  if (threads == known_threads_) return;
  Close();
  FindThreads();
  known_threads_ = threads;
}

void RunQueueWait::FindThreads() {
  std::error_code error;
  for (const auto& entry : std::filesystem::directory_iterator(kTasks, error)) {
    const std::filesystem::path& path = entry.path();
    pid_t id = 0;
    if (!absl::SimpleAtoi(path.filename().string(), &id)) continue;
    threads_.push_back({.id = id,
                        .schedstat = open((path / "schedstat").c_str(), O_RDONLY | O_CLOEXEC),
                        .stat = open((path / "stat").c_str(), O_RDONLY | O_CLOEXEC),
                        .cpu_clock = CpuClockOf(id)});
  }
}

void RunQueueWait::Close() {
  for (const Thread& thread : threads_) {
    if (thread.schedstat >= 0) close(thread.schedstat);
    if (thread.stat >= 0) close(thread.stat);
  }
  threads_.clear();
}

}  // namespace quotient::os
