#include "core/os/temp_folder.h"

#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <system_error>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"

namespace quotient::os {
namespace {

// Locks a folder of this user. Not valid if that cannot be done, such as because another process
// has locked it, or the file system has no locks.
Fd Lock(const std::string& path) {
  Fd folder(open(path.c_str(), O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC));
  struct stat status;
  if (!folder.valid() || fstat(folder.get(), &status) != 0 || status.st_uid != geteuid() ||
      flock(folder.get(), LOCK_EX | LOCK_NB) != 0) {
    return {};
  }
  return folder;
}

void Remove(const std::string& path) {
  std::error_code ignored;
  std::filesystem::remove_all(path, ignored);
}

}  // namespace

std::string TempPlace(const Environment& environment) {
  const std::string place = ValueOf(environment, "TMPDIR");
  return place.empty() ? "/tmp" : place;
}

absl::StatusOr<std::unique_ptr<TempFolder>> TempFolder::Create(const std::string& place,
                                                               absl::string_view name) {
  for (;;) {
    std::string path = absl::StrCat(place, "/", name, "XXXXXX");
    if (mkdtemp(path.data()) == nullptr) return ErrnoError("make a folder in", place);
    Fd lock = Lock(path);
    // Before it was locked, another process may have taken it for an abandoned one.
    if (access(path.c_str(), F_OK) == 0) {
      return std::unique_ptr<TempFolder>(new TempFolder(std::move(path), std::move(lock)));
    }
  }
}

void TempFolder::RemoveAbandoned(const std::string& place, absl::string_view name) {
  std::vector<std::string> found;
  std::error_code failure;
  std::filesystem::directory_iterator entry(place, failure);
  for (; !failure && entry != std::filesystem::directory_iterator(); entry.increment(failure)) {
    if (absl::StartsWith(entry->path().filename().string(), name)) found.push_back(entry->path());
  }
  for (const std::string& path : found) {
    if (const Fd lock = Lock(path); lock.valid()) Remove(path);
  }
}

TempFolder::~TempFolder() { Remove(path_); }

}  // namespace quotient::os
