#pragma once

// One rewrite rule: what `quotient rules RULE` prints.

#include <nlohmann/json_fwd.hpp>
#include <span>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "client/cli/rule_stats.h"
#include "core/egraph/rule.h"
#include "core/rules/certificates.h"
#include "core/rules/guard_records.h"
#include "core/timing/rule_store.h"

namespace quotient::cli {

// What the list of all rules has of each, for programs.
nlohmann::ordered_json RuleJson(const egraph::Rule& rule, const std::string& family,
                                const rules::RecordedCertificate& certificate,
                                std::span<const rules::RecordedGuard> guards);
// "7/12": so many of the guards of all left sides are needed, each shown by a counterexample; "-"
// if there are none.
std::string NeededOf(std::span<const rules::RecordedGuard> guards);
// A line: how many of the guards are needed, and what the others are for.
std::string GuardCounts(std::span<const rules::RecordedGuard> guards);

struct RulePage {
  const egraph::Rule* rule;  // Borrowed.
  std::string family;
  rules::RecordedCertificate certificate;
  std::vector<rules::RecordedGuard> guards;
  // What the rule did in the jobs so far; or why that is not known.
  absl::StatusOr<timing::RuleTable> stats;
  std::string version;  // Of the rule, as the statistics have it.
};

// A head, the equation, the text, the guards with what is known of each, the certificate, and a
// table of the statistics.
std::string PageText(const RulePage& page);
// The same for programs. "statistics" is null if they are not known.
std::string PageJson(const RulePage& page);

}  // namespace quotient::cli
