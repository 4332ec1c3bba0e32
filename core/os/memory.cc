#include "core/os/memory.h"

#include <unistd.h>

#include <algorithm>
#include <fstream>
#include <string>

#include "absl/strings/ascii.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/strip.h"

namespace quotient::os {
namespace {

// The group's folder: /proc/self/cgroup has a line "0::/path". Limits of the folders above hold
// too; "max" is none.
int64_t ControlGroupBytes(int64_t most) {
  std::ifstream groups("/proc/self/cgroup");
  std::string line;
  while (std::getline(groups, line)) {
    absl::string_view path = line;
    if (!absl::ConsumePrefix(&path, "0::/")) continue;
    std::string folder = absl::StrCat("/sys/fs/cgroup/", path);
    for (; folder.size() >= sizeof("/sys/fs/cgroup") - 1; folder.resize(folder.rfind('/'))) {
      std::ifstream file(folder + "/memory.max");
      int64_t bytes;
      if (std::getline(file, line) && absl::SimpleAtoi(absl::StripAsciiWhitespace(line), &bytes)) {
        most = std::min(most, bytes);
      }
    }
    break;
  }
  return most;
}

}  // namespace

int64_t MemoryBytes() {
  static const int64_t bytes =
      ControlGroupBytes(int64_t{sysconf(_SC_PHYS_PAGES)} * sysconf(_SC_PAGE_SIZE));
  return bytes;
}

}  // namespace quotient::os
