#include "server/store/disk/checkpoint_store.h"

#include <dirent.h>
#include <errno.h>
#include <unistd.h>

#include <utility>

#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"
#include "core/base/status_macros.h"
#include "core/os/atomic_file.h"
#include "core/os/fault_point.h"
#include "core/os/files.h"

namespace quotient::store {
namespace {

// Job ids consist of letters and digits; other text could be a path. The names of incomplete files
// contain dots.
bool IsJobId(absl::string_view name) {
  for (const char c : name) {
    if (!absl::ascii_isalnum(static_cast<unsigned char>(c))) return false;
  }
  return !name.empty();
}

class StagedFile : public jobs::StagedCheckpoint {
 public:
  explicit StagedFile(std::unique_ptr<os::AtomicFile> file) : file_(std::move(file)) {}
  absl::Status Commit() override {
    QUOTIENT_RETURN_IF_ERROR(file_->Commit());
    os::FaultPoint("checkpoint.committed");
    return absl::OkStatus();
  }

 private:
  const std::unique_ptr<os::AtomicFile> file_;
};

}  // namespace

absl::StatusOr<std::unique_ptr<DiskCheckpointStore>> DiskCheckpointStore::Open(
    const std::string& path, const DiskBlobStore* blobs) {
  QUOTIENT_RETURN_IF_ERROR(os::MakeDirectories(path));
  std::unique_ptr<DiskCheckpointStore> store(new DiskCheckpointStore(path, blobs));
  QUOTIENT_ASSIGN_OR_RETURN(const std::vector<std::string> names, store->Names());
  for (const std::string& name : names) {
    if (!IsJobId(name)) unlink(absl::StrCat(path, "/", name).c_str());
  }
  return store;
}

absl::StatusOr<std::string> DiskCheckpointStore::PathOf(absl::string_view job_id) const {
  if (!IsJobId(job_id)) return absl::NotFoundError("no such job");
  return absl::StrCat(path_, "/", job_id);
}

absl::StatusOr<std::vector<std::string>> DiskCheckpointStore::Names() const {
  DIR* const folder = opendir(path_.c_str());
  if (folder == nullptr) return os::ErrnoError("open", path_);
  std::vector<std::string> names;
  while (const dirent* entry = readdir(folder)) {
    if (entry->d_type != DT_DIR) names.emplace_back(entry->d_name);
  }
  closedir(folder);
  return names;
}

absl::StatusOr<std::unique_ptr<jobs::StagedCheckpoint>> DiskCheckpointStore::Stage(
    absl::string_view job_id, absl::string_view bytes) {
  QUOTIENT_ASSIGN_OR_RETURN(const std::string path, PathOf(job_id));
  QUOTIENT_RETURN_IF_ERROR(blobs_.CheckRoom(static_cast<int64_t>(bytes.size())));
  QUOTIENT_ASSIGN_OR_RETURN(std::unique_ptr<os::AtomicFile> file, os::AtomicFile::Create(path));
  QUOTIENT_RETURN_IF_ERROR(file->Append(bytes));
  os::FaultPoint("checkpoint.written");
  QUOTIENT_RETURN_IF_ERROR(file->Seal());
  os::FaultPoint("checkpoint.sealed");
  return std::make_unique<StagedFile>(std::move(file));
}

absl::StatusOr<std::string> DiskCheckpointStore::Get(absl::string_view job_id) {
  QUOTIENT_ASSIGN_OR_RETURN(const std::string path, PathOf(job_id));
  if (access(path.c_str(), F_OK) != 0 && errno == ENOENT) {
    return absl::NotFoundError("no checkpoint");
  }
  return os::ReadFile(path);
}

absl::Status DiskCheckpointStore::Remove(absl::string_view job_id) {
  QUOTIENT_ASSIGN_OR_RETURN(const std::string path, PathOf(job_id));
  os::FaultPoint("checkpoint.unneeded");
  if (unlink(path.c_str()) == 0 || errno == ENOENT) return absl::OkStatus();
  return os::ErrnoError("remove", path);
}

absl::StatusOr<std::vector<std::string>> DiskCheckpointStore::List() {
  QUOTIENT_ASSIGN_OR_RETURN(std::vector<std::string> names, Names());
  std::erase_if(names, [](const std::string& name) { return !IsJobId(name); });
  return names;
}

}  // namespace quotient::store
