#pragma once

// A program that runs in a process of its own, and ends at the latest with the object.

#include <sys/types.h>

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "core/os/environment.h"
#include "core/os/files.h"

namespace quotient::os {

// The descriptor that a child finds its socket at.
inline constexpr int kChildSocket = 3;

// For one thread.
class ChildProcess {
 public:
  // Which processes end with the program.
  enum class Group {
    kStarters,  // It alone: it is of the group of the process that starts it.
    // All that it has started, unless they left its group. Whoever learns that the program has
    // ended waits for them, too, up to a second, since nobody may ever collect those that have
    // ended.
    kOwn,
  };

  // Starts the program at a path. It gets nothing of this process but the socket and standard
  // error, to which its output goes, too. Fails with STORAGE_DOWN if it cannot be started.
  static absl::StatusOr<std::unique_ptr<ChildProcess>> Start(
      const std::string& program, const std::vector<std::string>& arguments,
      const Environment& environment, const Fd& socket, Group group = Group::kStarters);
  // Kills it.
  ~ChildProcess();
  ChildProcess(const ChildProcess&) = delete;
  ChildProcess& operator=(const ChildProcess&) = delete;

  // How a process ended.
  struct Ending {
    int exit_status = -1;  // -1 if a signal ended it.
    int signal = 0;        // 0 if it ended by itself.
  };
  pid_t pid() const { return pid_; }
  // Whether the process has ended.
  bool HasEnded();
  // Changes how many bytes of addresses the process may have, if it has limited itself to some
  // number, which stays the most. What it asks for beyond them fails in it. What it has already, it
  // keeps.
  void LimitAddresses(int64_t bytes);
  // Bytes of memory that it takes now and that are no files' pages; 0 if the system does not tell.
  int64_t AnonymousBytes() const;
  // Kills it, for another thread than the one that this object is for, while that one calls nothing
  // else.
  void Kill() const;
  // Waits until the process has ended, for so long, and kills it then.
  Ending End(double patience_seconds);

 private:
  ChildProcess(pid_t pid, Group group) : pid_(pid), group_(group) {}
  // Takes note of how the process has ended, which it has, and ends its group.
  void Reap();

  const pid_t pid_;
  const Group group_;
  std::optional<Ending> ending_;  // Once it is known to have ended.
};

// A pair of connected sockets that are closed in children.
struct SocketPair {
  Fd ours;
  Fd theirs;
};
absl::StatusOr<SocketPair> MakeSocketPair();

}  // namespace quotient::os
