#include "core/os/cpu_quota.h"

#include <algorithm>
#include <string>
#include <vector>

#include "absl/strings/ascii.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "core/os/control_group.h"

namespace quotient::os {

std::optional<double> ParseCpuMax(absl::string_view text) {
  const std::vector<absl::string_view> words = absl::StrSplit(text, ' ', absl::SkipWhitespace());
  double quota = 0, period = 0;
  if (words.size() != 2 || !absl::SimpleAtod(words[0], &quota) ||
      !absl::SimpleAtod(absl::StripAsciiWhitespace(words[1]), &period) || !(quota > 0) ||
      !(period > 0)) {
    return std::nullopt;
  }
  return quota / period;
}

std::optional<double> CpuQuota() {
  std::optional<double> least;
  for (const ControlGroup& group : ControlGroups("cpu")) {
    const std::string text = group.is_unified
                                 ? FirstLine(group.folder + "/cpu.max")
                                 : absl::StrCat(FirstLine(group.folder + "/cpu.cfs_quota_us"), " ",
                                                FirstLine(group.folder + "/cpu.cfs_period_us"));
    const std::optional<double> quota = ParseCpuMax(text);
    if (quota.has_value()) least = std::min(least.value_or(*quota), *quota);
  }
  return least;
}

}  // namespace quotient::os
