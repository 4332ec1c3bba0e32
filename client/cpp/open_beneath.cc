#include "client/cpp/open_beneath.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/openat2.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "core/base/log.h"
#include "core/base/reason.h"

namespace quotient::client {
namespace {

// With O_NONBLOCK, opening a FIFO does not block. It is refused later, since it is not a regular
// file.
constexpr int kFlags = O_RDONLY | O_CLOEXEC | O_NONBLOCK;

int OpenWithKernel(int folder, const std::string& location) {
  struct open_how how = {};
  how.flags = static_cast<uint64_t>(kFlags);
  how.resolve = RESOLVE_BENEATH | RESOLVE_NO_MAGICLINKS;
  return static_cast<int>(syscall(SYS_openat2, folder, location.c_str(), &how, sizeof(how)));
}

// Fallback for kernels and sandboxes without openat2. Opens one path component after the other and
// follows no links at all.
int OpenStepByStep(int folder, const std::string& location) {
  const std::vector<std::string> steps = absl::StrSplit(location, '/', absl::SkipEmpty());
  if (absl::StartsWith(location, "/") || std::ranges::count(steps, "..") > 0) {
    errno = EXDEV;
    return -1;
  }
  os::Fd current(dup(folder));
  for (size_t i = 0; i < steps.size(); ++i) {
    const bool last = i + 1 == steps.size();
    const int flags = kFlags | O_NOFOLLOW | (last ? 0 : O_DIRECTORY);
    os::Fd next(openat(current.get(), steps[i].c_str(), flags));
    if (!next.valid()) return -1;
    current = std::move(next);
  }
  return dup(current.get());
}

}  // namespace

absl::StatusOr<os::Fd> OpenBeneath(const os::Fd& folder, absl::string_view location) {
  const std::string name(location);
  os::Fd fd(OpenWithKernel(folder.get(), name));
  if (!fd.valid() && (errno == ENOSYS || errno == EPERM)) {
    fd = os::Fd(OpenStepByStep(folder.get(), name));
  }
  if (fd.valid()) return fd;
  const int code = errno;
  // EXDEV means that the path leaves the folder, ELOOP that it has a link that must not be
  // followed.
  if (code == EXDEV || code == ELOOP) {
    return MakeError(Reason::kExternalDataPath, absl::StrCat("external data '", Escaped(location),
                                                             "' leads out of the model's folder"));
  }
  return MakeError(Reason::kExternalDataMissing,
                   absl::StrCat("external data '", Escaped(location), "': ", strerror(code)));
}

}  // namespace quotient::client
