#include "core/os/run_queue_wait.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <array>
#include <filesystem>
#include <system_error>
#include <vector>

#include "absl/strings/numbers.h"
#include "absl/strings/str_split.h"

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

}  // namespace

RunQueueWait::~RunQueueWait() {
  for (const int file : files_) close(file);
}

int64_t RunQueueWait::TotalNs() {
  if (const uint64_t threads = CountThreads(); threads != known_threads_) {
    FindThreads();
    known_threads_ = threads;
  }
  int64_t total = 0;
  for (const int file : files_) total += WaitingNs(file);
  return total;
}

void RunQueueWait::FindThreads() {
  for (const int file : files_) close(file);
  files_.clear();
  std::error_code error;
  for (const auto& entry : std::filesystem::directory_iterator(kTasks, error)) {
    const int file = open((entry.path() / "schedstat").c_str(), O_RDONLY | O_CLOEXEC);
    if (file >= 0) files_.push_back(file);
  }
}

}  // namespace quotient::os
