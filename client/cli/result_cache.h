#pragma once

// The folder of --cache: results on disk, each in a folder of its own under the key of its lock
// file.
//
//   CACHE/<key>/contents             the names and digests of the files beside it
//   CACHE/<key>/model, data, report, html, journal
//
// Everything is checked by its digest when it is read. Any part of the cache may be deleted at any
// time, and processes may share it.

#include <map>
#include <memory>
#include <string>

#include "absl/status/statusor.h"
#include "client/cli/lock_file.h"
#include "client/cli/output.h"
#include "core/os/temp_folder.h"

namespace quotient::cli {

// A result whose files are in the cache, but not yet under a key. They are gone with the object.
class StagedResult {
 public:
  // Copies all files of a result. `cache` is the path of the folder, which is made if it is
  // missing.
  static absl::StatusOr<StagedResult> Of(ResultSource& source, const std::string& cache);

  const ResultFiles& files() const { return files_; }
  const std::string& report_json() const { return report_json_; }
  // Keeps them under the key of the lock file, in place of what was there.
  absl::Status Keep(const Lock& lock);

 private:
  StagedResult() = default;

  std::string cache_;
  std::unique_ptr<os::TempFolder> folder_;
  ResultFiles files_;
  std::string report_json_;
};

// The result that the lock file pins, or null if the cache does not have it whole. A result that is
// damaged is warned about.
std::unique_ptr<ResultSource> FindResult(const std::string& cache, const Lock& lock);

}  // namespace quotient::cli
