#include "server/runner/job_groups.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/xattr.h>
#include <unistd.h>

#include <algorithm>
#include <filesystem>
#include <system_error>

#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_split.h"
#include "absl/strings/strip.h"
#include "core/base/status_macros.h"
#include "core/os/control_group.h"
#include "core/os/files.h"
#include "core/os/random_id.h"

namespace quotient::runner {
namespace {

// Where groups are, in a container those that it was given.
constexpr char kRoot[] = "/sys/fs/cgroup";
constexpr char kServer[] = "/quotientd";
constexpr char kJob[] = "job-";
constexpr char kProcesses[] = "/cgroup.procs";
constexpr char kDivided[] = "/cgroup.subtree_control";

absl::Status Unavailable(absl::string_view what) {
  return absl::UnavailableError(absl::StrCat("no control groups for jobs: ", what));
}

absl::Status WriteTo(const std::string& file, absl::string_view text) {
  QUOTIENT_ASSIGN_OR_RETURN(const os::Fd fd, os::OpenFile(file, O_WRONLY | O_CREAT | O_TRUNC));
  return os::WriteFully(fd, text, file);
}

// Root may write all groups, but those of a service are its manager's unless it says otherwise.
bool IsOurs(const std::string& folder) {
  if (access(folder.c_str(), W_OK) != 0) return false;
  if (geteuid() != 0 || folder == kRoot) return true;
  for (const char* const name : {"trusted.delegate", "user.delegate"}) {
    char value = '0';
    if (getxattr(folder.c_str(), name, &value, 1) == 1 && value == '1') return true;
  }
  return false;
}

absl::Status CheckControllers(const std::string& folder,
                              const std::vector<std::string>& controllers) {
  const std::string line = os::FirstLine(folder + "/cgroup.controllers");
  const std::vector<absl::string_view> there = absl::StrSplit(line, ' ');
  for (const std::string& controller : controllers) {
    if (std::ranges::find(there, controller) == there.end()) {
      return Unavailable(absl::StrCat(folder, " has no ", controller));
    }
  }
  return absl::OkStatus();
}

// Those that a process has left which was killed, if theirs have ended, too.
void RemoveLeftGroups(const std::string& folder) {
  std::vector<std::string> found;
  std::error_code failure;
  std::filesystem::directory_iterator entry(folder, failure);
  for (; !failure && entry != std::filesystem::directory_iterator(); entry.increment(failure)) {
    if (absl::StartsWith(entry->path().filename().string(), kJob)) found.push_back(entry->path());
  }
  for (const std::string& group : found) rmdir(group.c_str());
}

absl::Status Divide(const std::string& folder, const std::vector<std::string>& controllers) {
  QUOTIENT_RETURN_IF_ERROR(WriteTo(folder + kServer + kProcesses, "0"));
  return WriteTo(folder + kDivided, absl::StrCat("+", absl::StrJoin(controllers, " +")));
}

}  // namespace

JobGroup::~JobGroup() {
  WriteTo(folder_ + "/cgroup.kill", "1").IgnoreError();
  groups_.Remove(folder_);
}

absl::Status JobGroup::Add(int pid) { return WriteTo(folder_ + kProcesses, absl::StrCat(pid)); }

bool JobGroup::HasRunOutOfMemory() const {
  const absl::StatusOr<std::string> events = os::ReadFile(folder_ + "/memory.events");
  if (!events.ok()) return false;
  for (absl::string_view line : absl::StrSplit(*events, '\n')) {
    int64_t count = 0;
    if (absl::ConsumePrefix(&line, "oom_kill ") && absl::SimpleAtoi(line, &count)) return count > 0;
  }
  return false;
}

absl::StatusOr<std::unique_ptr<JobGroups>> JobGroups::Create(
    const std::string& folder, const Limits& limits, const std::vector<std::string>& controllers) {
  if (folder.empty()) return Unavailable("the system has none of version 2");
  QUOTIENT_RETURN_IF_ERROR(CheckControllers(folder, controllers));
  if (!IsOurs(folder)) return Unavailable(absl::StrCat(folder, " is not ours to divide"));
  const std::string server = folder + kServer;
  if (mkdir(server.c_str(), 0755) != 0 && errno != EEXIST) return Unavailable(strerror(errno));
  const absl::Status divided = Divide(folder, controllers);
  if (!divided.ok()) {
    WriteTo(folder + kProcesses, "0").IgnoreError();
    rmdir(server.c_str());
    return Unavailable(divided.message());
  }
  RemoveLeftGroups(folder);
  return std::unique_ptr<JobGroups>(new JobGroups(folder, limits));
}

void JobGroups::Remove(const std::string& folder) {
  absl::MutexLock lock(&mutex_);
  ended_.push_back(folder);
  std::erase_if(ended_, [](const std::string& each) { return rmdir(each.c_str()) == 0; });
}

absl::StatusOr<std::unique_ptr<JobGroup>> JobGroups::NewGroup() {
  const std::string folder = absl::StrCat(folder_, "/", kJob, os::RandomId());
  if (mkdir(folder.c_str(), 0755) != 0) return os::ErrnoError("make", folder);
  std::unique_ptr<JobGroup> group(new JobGroup(this, folder));
  if (limits_.memory_bytes > 0) {
    QUOTIENT_RETURN_IF_ERROR(WriteTo(folder + "/memory.max", absl::StrCat(limits_.memory_bytes)));
    QUOTIENT_RETURN_IF_ERROR(WriteTo(folder + "/pids.max", absl::StrCat(limits_.processes)));
  }
  return group;
}

std::string OwnGroupFolder() {
  const std::vector<os::ControlGroup> groups = os::ControlGroups("");
  const auto own = std::ranges::find_if(groups, &os::ControlGroup::is_unified);
  return own == groups.end() ? "" : own->folder;
}

}  // namespace quotient::runner
