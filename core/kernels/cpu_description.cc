#include "core/kernels/cpu_description.h"

#include <sched.h>

#include <fstream>
#include <iterator>
#include <set>
#include <utility>
#include <vector>

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_split.h"
#include "core/base/status_macros.h"

namespace quotient::kernels {
namespace {

// Whether kernels are chosen by this CPU flag.
bool DecidesKernels(absl::string_view flag) {
  for (absl::string_view prefix : {"avx", "amx", "fma", "f16c", "sse4", "bmi"}) {
    if (absl::StartsWith(flag, prefix)) return true;
  }
  return flag == "hypervisor";
}

absl::Status Missing(absl::string_view what) {
  return absl::FailedPreconditionError(absl::StrCat("device fingerprint: no ", what));
}

std::string ReadWord(const std::string& path) {
  std::ifstream file(path);
  std::string word;
  file >> word;
  return word;
}

// The size of the first core's data cache of that level; empty if unknown.
std::string CacheSize(absl::string_view level) {
  for (int i = 0; i < 8; ++i) {
    const std::string folder = absl::StrCat("/sys/devices/system/cpu/cpu0/cache/index", i, "/");
    if (ReadWord(folder + "level") == level && ReadWord(folder + "type") != "Instruction") {
      return ReadWord(folder + "size");
    }
  }
  return "";
}

int UsableCores() {
  cpu_set_t cores;
  return sched_getaffinity(0, sizeof(cores), &cores) == 0 ? CPU_COUNT(&cores) : 0;
}

}  // namespace

absl::StatusOr<CpuDescription> DescribeCpu() {
  std::ifstream file("/proc/cpuinfo");
  const std::string text{std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>()};
  QUOTIENT_ASSIGN_OR_RETURN(CpuDescription cpu, ParseCpuInfo(text));
  cpu.cores = UsableCores();
  if (cpu.cores < 1) return Missing("core count");
  for (auto [size, level] : {std::pair{&cpu.l1d, "1"}, {&cpu.l2, "2"}, {&cpu.l3, "3"}}) {
    *size = CacheSize(level);
  }
  // Some processors have only two levels; some sandboxes do not show /sys.
  if (cpu.l3.empty()) cpu.l3 = cpu.l1d.empty() ? "unknown" : "none";
  for (std::string* size : {&cpu.l1d, &cpu.l2}) {
    if (size->empty()) *size = "unknown";
  }
  return cpu;
}

absl::StatusOr<CpuDescription> ParseCpuInfo(absl::string_view cpuinfo) {
  CpuDescription cpu;
  const std::pair<absl::string_view, std::string*> wanted[] = {
      {"vendor_id", &cpu.vendor},  {"cpu family", &cpu.family},     {"model", &cpu.model},
      {"stepping", &cpu.stepping}, {"model name", &cpu.model_name}, {"flags", &cpu.flags}};
  for (absl::string_view line : absl::StrSplit(cpuinfo, '\n')) {
    const std::pair<absl::string_view, absl::string_view> parts =
        absl::StrSplit(line, absl::MaxSplits(':', 1));
    for (const auto& [name, value] : wanted) {
      if (absl::StripAsciiWhitespace(parts.first) == name && value->empty()) {
        *value = std::string(absl::StripAsciiWhitespace(parts.second));
      }
    }
  }
  for (const auto& [name, value] : wanted) {
    if (value->empty()) return Missing(name);
  }
  return cpu;
}

std::string ProcessorText(const CpuDescription& cpu) {
  std::set<std::string> flags;
  for (absl::string_view flag : absl::StrSplit(cpu.flags, ' ', absl::SkipEmpty())) {
    if (DecidesKernels(flag)) flags.insert(std::string(flag));
  }
  return absl::StrCat(cpu.vendor, " family ", cpu.family, " model ", cpu.model, " stepping ",
                      cpu.stepping, " (", cpu.model_name, "); flags ", absl::StrJoin(flags, " "));
}

}  // namespace quotient::kernels
