#include "core/report/gain_text.h"

#include <algorithm>
#include <cmath>
#include <iterator>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "core/base/counted.h"

namespace quotient::report {
namespace {

// A side of a replacement may have hundreds of kernels.
constexpr size_t kMostKinds = 6;

// The kernels of one of `places` equal regions.
std::string KernelsText(const std::vector<KernelTally>& tallies, size_t places) {
  if (tallies.empty()) return "nothing";
  std::vector<std::string> texts;
  for (size_t i = 0; i < std::min(tallies.size(), kMostKinds); ++i) {
    const int64_t count = tallies[i].count / static_cast<int64_t>(std::max<size_t>(places, 1));
    texts.push_back(absl::StrCat(count > 1 ? absl::StrCat(count, " x ") : "", tallies[i].ops));
  }
  if (tallies.size() > kMostKinds) {
    texts.push_back(absl::StrCat("and ", tallies.size() - kMostKinds, " more kinds"));
  }
  return absl::StrJoin(texts, ", ");
}

}  // namespace

std::string RulesText(const RuleGain& gain, size_t most) {
  int64_t places = 0;
  for (const RegionGain& region : gain.regions) places += std::ssize(region.sites);
  const size_t shown = std::min(most, gain.rules.size());
  const auto end = gain.rules.begin() + static_cast<std::ptrdiff_t>(shown);
  const std::string rules = gain.rules.empty() ? "(no rule: constants folded, equal parts merged)"
                                               : absl::StrJoin(gain.rules.begin(), end, ", ");
  const size_t left = gain.rules.size() - shown;
  const std::string more = left == 0 ? "" : absl::StrCat(" and ", left, " more");
  return absl::StrCat(rules, more, ": ", Counted(places, "place"));
}

std::string ReplacementText(const RegionGain& region) {
  return absl::StrCat(KernelsText(region.before, region.sites.size()), " -> ",
                      KernelsText(region.after, region.sites.size()));
}

std::string SitesText(const RegionGain& region) {
  if (region.sites.empty()) return "";
  return absl::StrCat(region.sites.size() > 1 ? "first at " : "at ", region.sites.front());
}

double PercentOfOriginal(const Report& report, double us) {
  return report.original.predicted_us > 0 ? 100 * us / report.original.predicted_us : 0;
}

bool IsWorthListing(const Report& report, double us) {
  constexpr double kLeastPercent = 0.05;
  return std::abs(PercentOfOriginal(report, us)) >= kLeastPercent;
}

}  // namespace quotient::report
