#include "core/os/memory.h"

#include <malloc.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <fstream>
#include <string>

#include "absl/strings/ascii.h"
#include "absl/strings/numbers.h"
#include "core/os/control_group.h"

namespace quotient::os {
namespace {

std::atomic<int> g_parts = 1;

int64_t ControlGroupBytes(int64_t most) {
  for (const ControlGroup& group : ControlGroups("memory")) {
    const std::string line =
        FirstLine(group.folder + (group.is_unified ? "/memory.max" : "/memory.limit_in_bytes"));
    int64_t bytes;  // "max" is no limit.
    if (absl::SimpleAtoi(absl::StripAsciiWhitespace(line), &bytes)) most = std::min(most, bytes);
  }
  return most;
}

}  // namespace

int64_t MemoryBytes() {
  static const int64_t bytes =
      ControlGroupBytes(int64_t{sysconf(_SC_PHYS_PAGES)} * sysconf(_SC_PAGE_SIZE));
  return bytes / g_parts;
}

void DivideMemory(int parts) { g_parts = parts; }

int64_t ResidentBytes() {
  std::ifstream file("/proc/self/statm");
  int64_t size = 0, resident = 0;  // In pages.
  file >> size >> resident;
  return file ? resident * sysconf(_SC_PAGE_SIZE) : 0;
}

void ReturnFreedMemory() { malloc_trim(0); }

}  // namespace quotient::os
