#pragma once

// Statistics of rules as text: what `quotient rules --stats` prints, and `quotient rules RULE` in
// part.

#include <map>
#include <nlohmann/json_fwd.hpp>
#include <string>

#include "absl/strings/string_view.h"
#include "core/timing/rule_store.h"

namespace quotient::cli {

// The versions of this program's rules, by name.
using RuleVersions = std::map<std::string, std::string>;

// For each device, a table of the rules as they are now, those first that saved most. Shares are
// means over the jobs in which a rule had a match.
std::string StatsTable(const timing::RuleTable& stats, const RuleVersions& versions);

// The same with the statistics of earlier versions of rules, for programs.
std::string StatsJson(const timing::RuleTable& stats, const RuleVersions& versions);
nlohmann::ordered_json StatsObject(const timing::RuleTable& stats, const RuleVersions& versions);

// What all versions of one rule did, on the devices where one of them had a match.
timing::RuleTable OnlyRule(const timing::RuleTable& stats, absl::string_view name);

}  // namespace quotient::cli
