#include "core/timing/rule_store.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <chrono>
#include <filesystem>
#include <memory>
#include <system_error>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "core/base/log.h"
#include "core/base/reason.h"
#include "core/base/status_macros.h"
#include "core/os/atomic_file.h"
#include "core/os/files.h"
#include "core/timing/file_lock.h"
#include "core/timing/rule_table.h"

namespace quotient::timing {
namespace {

// How long a job waits at its end for others that add theirs, which takes milliseconds. A lock that
// is held for longer is that of a process that was stopped.
constexpr std::chrono::milliseconds kPatience(1'000);
// A larger file was not written by a RuleStore.
constexpr int64_t kMostFileBytes = int64_t{64} << 20;

// Empty if there is no file.
absl::StatusOr<std::string> ReadIfThere(const std::string& path) {
  struct stat status;
  if (stat(path.c_str(), &status) != 0) {
    if (errno == ENOENT) return std::string();
    return os::ErrnoError("look at", path);
  }
  if (!S_ISREG(status.st_mode) || status.st_size > kMostFileBytes) {
    return MakeError(Reason::kStorageDown,
                     absl::StrCat(path, ": is not a file of rule statistics"));
  }
  return os::ReadFile(path);
}

// Removes what writers that died have left of new files. The caller has the lock, so no other
// writer is at work.
void RemoveLeftovers(const std::string& path) {
  const std::string prefix = os::BaseName(path) + ".";
  std::vector<std::string> leftovers;
  std::error_code error;
  std::filesystem::directory_iterator entry(os::DirectoryOf(path), error);
  for (; !error && entry != std::filesystem::directory_iterator(); entry.increment(error)) {
    const std::string name = entry->path().filename().string();
    if (absl::StartsWith(name, prefix) && absl::EndsWith(name, ".tmp")) {
      leftovers.push_back(entry->path().string());
    }
  }
  for (const std::string& each : leftovers) unlink(each.c_str());
}

}  // namespace

absl::StatusOr<RuleTable> RuleStore::Read() const {
  QUOTIENT_ASSIGN_OR_RETURN(const std::string bytes, ReadIfThere(path_));
  absl::StatusOr<DecodedRules> decoded = DecodeRuleTable(bytes);
  if (!decoded.ok()) {
    return MakeError(Reason::kStorageDown, absl::StrCat(path_, ": ", decoded.status().message()));
  }
  if (decoded->dropped > 0) {
    Log().warn("rule statistics {}: {} bytes are damaged and left out", path_, decoded->dropped);
  }
  return std::move(decoded->table);
}

absl::Status RuleStore::Add(absl::string_view fingerprint, const DeviceRules& job) const {
  if (fingerprint.empty() || fingerprint.size() > kMostFingerprintBytes) {
    return absl::InvalidArgumentError("a device without a fingerprint, or with a very long one");
  }
  const std::string lock_path = path_ + ".lock";
  QUOTIENT_ASSIGN_OR_RETURN(const os::Fd lock_file, os::OpenFile(lock_path, O_RDWR | O_CREAT));
  const FileLock lock(lock_file.get(), kPatience);
  if (!lock.held()) return os::ErrnoError("lock", lock_path);
  RemoveLeftovers(path_);
  QUOTIENT_ASSIGN_OR_RETURN(RuleTable table, Read());
  ClampTimes(job.last_unix_s, &table);  // The job ends now.
  table[std::string(fingerprint)] += job;
  QUOTIENT_ASSIGN_OR_RETURN(const std::unique_ptr<os::AtomicFile> file,
                            os::AtomicFile::Create(path_));
  QUOTIENT_RETURN_IF_ERROR(file->Append(EncodeRuleTable(table, fingerprint)));
  return file->Commit();
}

}  // namespace quotient::timing
