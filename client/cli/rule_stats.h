#pragma once

// Statistics of rules as text: what `quotient rules --stats` prints.

#include <map>
#include <string>

#include "core/timing/rule_store.h"

namespace quotient::cli {

// The versions of this program's rules, by name.
using RuleVersions = std::map<std::string, std::string>;

// For each device, a table of the rules as they are now, those first that saved most. Shares are
// means over the jobs in which a rule had a match.
std::string StatsTable(const timing::RuleTable& stats, const RuleVersions& versions);

// The same with the statistics of earlier versions of rules, for programs.
std::string StatsJson(const timing::RuleTable& stats, const RuleVersions& versions);

}  // namespace quotient::cli
