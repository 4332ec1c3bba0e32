#pragma once

// The folder that holds all of a server's state, owned by one process at a time.
//
//   LOCK           held (flock) by the process that owns the folder
//   LANE           held by the process of a job while it measures, see core/timing/lane.h, and
//                  LANE.next by the next one; where several jobs run at once
//   RESTORING      a backup is being restored, or was not restored to the end: deploy/restore.sh
//   BALLAST        takes room, which is given up on a full disk, see ballast.h
//   RUN            how that process ends, see run_record.h
//   quotient.db    jobs
//   blobs/         content, see blob_store.h
//   uploads/       uploads in progress, see upload_store.h
//   checkpoints/   checkpoints of jobs, see checkpoint_store.h
//   timings.db     kernel timings
//   rules.db       statistics of rewrite rules
//   compiled/      code compiled for GPUs, see core/kernels/cuda/code_folder.h

#include <memory>
#include <string>

#include "absl/status/statusor.h"
#include "core/os/files.h"

namespace quotient::store {

class DataDirectory {
 public:
  // Creates the folder if it is missing and takes the lock. Returns FAILED_PRECONDITION if another
  // process holds the lock, if a backup was not restored to the end, or if the folder is on a
  // network file system, where neither locks nor SQLite are safe.
  static absl::StatusOr<std::unique_ptr<DataDirectory>> Open(const std::string& path);

  std::string lane_path() const { return path_ + "/LANE"; }
  std::string ballast_path() const { return path_ + "/BALLAST"; }
  std::string run_path() const { return path_ + "/RUN"; }
  std::string database_path() const { return path_ + "/quotient.db"; }
  std::string blobs_path() const { return path_ + "/blobs"; }
  std::string uploads_path() const { return path_ + "/uploads"; }
  std::string checkpoints_path() const { return path_ + "/checkpoints"; }
  std::string timings_path() const { return path_ + "/timings.db"; }
  std::string rules_path() const { return path_ + "/rules.db"; }
  std::string compiled_path() const { return path_ + "/compiled"; }

 private:
  DataDirectory(std::string path, os::Fd lock) : path_(std::move(path)), lock_(std::move(lock)) {}

  const std::string path_;
  const os::Fd lock_;
};

}  // namespace quotient::store
