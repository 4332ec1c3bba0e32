#pragma once

// A note of how a process ends, which the next one on the data folder reads. The file has one line
// for each thing that happens:
//
//   boot <id>     the machine's boot, at the start of the process
//   told          the process was told to end
//
// Nothing is synced: what was written outlives the process, and if the machine goes down, the id of
// its boot tells so.

#include <memory>
#include <string>

#include "absl/status/statusor.h"
#include "core/os/files.h"
#include "server/jobs/last_end.h"

namespace quotient::store {

class RunRecord {
 public:
  // Reads how the last process ended; kUnknown if there is no record or none that can be read.
  // `boot_id` identifies the machine's boot.
  static jobs::LastEnd Read(const std::string& path, absl::string_view boot_id);

  // Begins the record of this process. To be called when nothing needs the last one any more.
  static absl::StatusOr<std::unique_ptr<RunRecord>> Begin(const std::string& path,
                                                          absl::string_view boot_id);

  // Notes that the process was told to end.
  absl::Status NoteTold() const;

 private:
  explicit RunRecord(os::Fd fd) : fd_(std::move(fd)) {}
  const os::Fd fd_;
};

// The id of the machine's present boot; empty if the system does not tell.
std::string BootId();

}  // namespace quotient::store
