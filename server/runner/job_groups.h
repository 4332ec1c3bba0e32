#pragma once

// A control group for each process of a job (cgroups, version 2), where the system lets the server
// make some: then the memory of the helpers of a job counts, and that of files in memory, and the
// number of its processes is limited.
//
//   <group of the server>           has no processes any more, as the kernel wants it
//     quotientd                     the server
//     job-<random>                  a process of a job with all that it starts

#include <cstdint>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/synchronization/mutex.h"

namespace quotient::runner {

class JobGroups;

// The group of one process. For one thread. Its JobGroups must outlive it.
class JobGroup {
 public:
  // Kills what is left in it.
  ~JobGroup();
  JobGroup(const JobGroup&) = delete;
  JobGroup& operator=(const JobGroup&) = delete;

  // Moves a process into the group, which has started no other one yet.
  absl::Status Add(int pid);
  // Whether the kernel has ended a process of the group because the group had no memory left.
  bool HasRunOutOfMemory() const;

 private:
  friend class JobGroups;
  JobGroup(JobGroups* groups, std::string folder) : groups_(*groups), folder_(std::move(folder)) {}

  JobGroups& groups_;
  const std::string folder_;
};

// Thread-safe.
class JobGroups {
 public:
  struct Limits {
    int64_t memory_bytes = 0;  // Of a group.
    int processes = 4096;      // And threads, of a group.
  };

  // Moves this process, which has started no other one yet, into a group below its own, whose
  // folder is given, and removes groups that an earlier process has left. UNAVAILABLE, with nothing
  // changed, if the group was not given to this process to divide, has other processes, or lacks
  // one of the controllers.
  static absl::StatusOr<std::unique_ptr<JobGroups>> Create(
      const std::string& folder, const Limits& limits,
      const std::vector<std::string>& controllers = {"memory", "pids"});

  absl::StatusOr<std::unique_ptr<JobGroup>> NewGroup() ABSL_LOCKS_EXCLUDED(mutex_);

 private:
  friend class JobGroup;

  JobGroups(std::string folder, const Limits& limits)
      : folder_(std::move(folder)), limits_(limits) {}
  // Removes the folder of a group whose processes were killed: now, or when they have ended.
  void Remove(const std::string& folder) ABSL_LOCKS_EXCLUDED(mutex_);

  const std::string folder_;
  const Limits limits_;

  absl::Mutex mutex_;
  std::vector<std::string> ended_ ABSL_GUARDED_BY(mutex_);  // Folders that are still to be removed.
};

// The folder of this process's control group; "" if the system has no groups of version 2.
std::string OwnGroupFolder();

}  // namespace quotient::runner
