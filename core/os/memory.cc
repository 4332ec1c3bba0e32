#include "core/os/memory.h"

#include <malloc.h>
#include <unistd.h>

#include <algorithm>
#include <fstream>
#include <string>
#include <vector>

#include "absl/strings/ascii.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"

namespace quotient::os {
namespace {

// The least limit of a control group and those above it; "max" is none.
int64_t LeastLimit(const std::string& root, absl::string_view group, const char* name,
                   int64_t most) {
  std::string folder = absl::StrCat(root, group == "/" ? "" : group);
  while (folder.size() >= root.size()) {
    std::ifstream file(absl::StrCat(folder, "/", name));
    std::string line;
    int64_t bytes;
    if (std::getline(file, line) && absl::SimpleAtoi(absl::StripAsciiWhitespace(line), &bytes)) {
      most = std::min(most, bytes);
    }
    folder.resize(folder.rfind('/'));
  }
  return most;
}

// Lines of /proc/self/cgroup are "number:controllers:/group"; version 2 names no controllers.
int64_t ControlGroupBytes(int64_t most) {
  std::ifstream groups("/proc/self/cgroup");
  for (std::string line; std::getline(groups, line);) {
    const std::vector<std::string> parts = absl::StrSplit(line, absl::MaxSplits(':', 2));
    if (parts.size() != 3) continue;
    if (parts[1].empty()) most = LeastLimit("/sys/fs/cgroup", parts[2], "memory.max", most);
    if (parts[1] == "memory") {
      most = LeastLimit("/sys/fs/cgroup/memory", parts[2], "memory.limit_in_bytes", most);
    }
  }
  return most;
}

}  // namespace

int64_t MemoryBytes() {
  static const int64_t bytes =
      ControlGroupBytes(int64_t{sysconf(_SC_PHYS_PAGES)} * sysconf(_SC_PAGE_SIZE));
  return bytes;
}

int64_t ResidentBytes() {
  std::ifstream file("/proc/self/statm");
  int64_t size = 0, resident = 0;  // In pages.
  file >> size >> resident;
  return file ? resident * sysconf(_SC_PAGE_SIZE) : 0;
}

void ReturnFreedMemory() { malloc_trim(0); }

}  // namespace quotient::os
