#include "client/cli/rule_stats.h"

#include <algorithm>
#include <nlohmann/json.hpp>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/time/time.h"
#include "core/base/counted.h"
#include "core/base/printable.h"
#include "core/kernels/device_name.h"

namespace quotient::cli {
namespace {

using timing::DeviceRules;
using timing::RuleTotals;
using timing::RuleVersion;
using Row = const std::pair<const RuleVersion, RuleTotals>;

std::string TimeText(int64_t unix_s) {
  return absl::FormatTime("%Y-%m-%dT%H:%M:%SZ", absl::FromUnixSeconds(unix_s), absl::UTCTimeZone());
}

bool IsPresent(const RuleVersion& rule, const RuleVersions& versions) {
  const auto found = versions.find(rule.name);
  return found != versions.end() && found->second == rule.version;
}

// In percent.
double MeanPercent(double sum, const RuleTotals& totals) {
  return totals.jobs > 0 ? 100 * sum / static_cast<double>(totals.jobs) : 0;
}

// Those that saved most first.
std::vector<Row*> ByWorth(const DeviceRules& device) {
  std::vector<Row*> rows;
  for (Row& row : device.rules) rows.push_back(&row);
  std::ranges::stable_sort(rows, std::ranges::greater(),
                           [](Row* row) { return MeanPercent(row->second.saved, row->second); });
  return rows;
}

// "onnxruntime (ONNX Runtime 1.31.1 on AMD EPYC 7B13, 2 threads)", "model:h200 (data sheet 2)".
std::string DeviceText(const std::string& fingerprint) {
  const std::string kind = fingerprint.substr(0, fingerprint.find(';'));
  return Printable(absl::StrCat(kind, " (", kernels::DeviceNameAndThreads(fingerprint), ")"));
}

std::string RowText(const RuleVersion& rule, const RuleTotals& totals) {
  return absl::StrFormat(
      "  %-24s %6d %6d %10d %10d %10d %8d %7.2f %% %7.2f %%\n", Printable(rule.name), totals.jobs,
      totals.jobs_won, totals.matches, totals.applied, totals.enodes, totals.uses,
      MeanPercent(totals.saved, totals), MeanPercent(totals.saved_alone, totals));
}

std::string DeviceTable(const std::string& fingerprint, const DeviceRules& device,
                        const RuleVersions& versions) {
  std::string text = absl::StrCat(DeviceText(fingerprint), ": ", Counted(device.jobs, "job"),
                                  ", the last one at ", TimeText(device.last_unix_s), "\n");
  absl::StrAppendFormat(&text, "  %-24s %6s %6s %10s %10s %10s %8s %9s %9s\n", "rule", "jobs",
                        "won", "matches", "applied", "e-nodes", "uses", "saved", "alone");
  int64_t others = 0;
  for (Row* const row : ByWorth(device)) {
    if (IsPresent(row->first, versions)) {
      text += RowText(row->first, row->second);
    } else {
      ++others;
    }
  }
  if (others > 0) {
    absl::StrAppend(&text, "  ", Counted(others, "rule"),
                    others == 1 ? " has changed since and is" : " have changed since and are",
                    " not shown; --json has ", others == 1 ? "it" : "them", "\n");
  }
  return text;
}

}  // namespace

std::string StatsTable(const timing::RuleTable& stats, const RuleVersions& versions) {
  if (stats.empty()) return "No job has been counted yet.\n";
  std::string text;
  for (const auto& [fingerprint, device] : stats) {
    absl::StrAppend(&text, text.empty() ? "" : "\n", DeviceTable(fingerprint, device, versions));
  }
  return text;
}

nlohmann::ordered_json StatsObject(const timing::RuleTable& stats, const RuleVersions& versions) {
  using Json = nlohmann::ordered_json;
  Json devices = Json::array();
  for (const auto& [fingerprint, device] : stats) {
    Json rules = Json::array();
    for (Row* const row : ByWorth(device)) {
      const auto& [rule, totals] = *row;
      rules.push_back({{"rule", rule.name},
                       {"version", rule.version},
                       {"present", IsPresent(rule, versions)},
                       {"jobs", totals.jobs},
                       {"jobs_won", totals.jobs_won},
                       {"matches", totals.matches},
                       {"applied", totals.applied},
                       {"enodes", totals.enodes},
                       {"uses", totals.uses},
                       {"saved_percent", MeanPercent(totals.saved, totals)},
                       {"saved_alone_percent", MeanPercent(totals.saved_alone, totals)},
                       {"last", TimeText(totals.last_unix_s)}});
    }
    const int threads = kernels::DescribeDevice(fingerprint).threads;
    devices.push_back({{"device", kernels::DeviceName(fingerprint)},
                       {"threads", threads > 0 ? Json(threads) : Json(nullptr)},
                       {"fingerprint", fingerprint},
                       {"jobs", device.jobs},
                       {"last", TimeText(device.last_unix_s)},
                       {"rules", rules}});
  }
  return Json{{"devices", devices}};
}

std::string StatsJson(const timing::RuleTable& stats, const RuleVersions& versions) {
  constexpr auto kReplace = nlohmann::ordered_json::error_handler_t::replace;
  return StatsObject(stats, versions).dump(2, ' ', false, kReplace) + "\n";
}

timing::RuleTable OnlyRule(const timing::RuleTable& stats, absl::string_view name) {
  timing::RuleTable only = stats;
  for (auto& [fingerprint, device] : only) {
    std::erase_if(device.rules, [&](const auto& rule) { return rule.first.name != name; });
  }
  std::erase_if(only, [](const auto& device) { return device.second.rules.empty(); });
  return only;
}

}  // namespace quotient::cli
