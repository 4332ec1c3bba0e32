// quotient rules: the rewrite rules, how each is known to be right, and what each was worth.

#include <algorithm>
#include <cstdio>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "client/cli/commands.h"
#include "client/cli/local.h"
#include "client/cli/near_names.h"
#include "client/cli/rule_page.h"
#include "client/cli/rule_stats.h"
#include "client/cpp/typed_file.h"
#include "core/base/log.h"
#include "core/base/reason.h"
#include "core/base/status_macros.h"
#include "core/domain/tensor_domain.h"
#include "core/optimize/rule_statistics.h"
#include "core/rules/certificates.h"
#include "core/rules/guard_records.h"
#include "core/rules/rule_set.h"
#include "core/timing/rule_store.h"

namespace quotient::cli {
namespace {

using rules::RecordedCertificate;

// A rule that was added since certificates were recorded has none.
RecordedCertificate CertificateOf(const std::string& rule) {
  const auto found = rules::Certificates().find(rule);
  return found == rules::Certificates().end() ? RecordedCertificate{.tier = "none"} : found->second;
}

// The family of each rule.
absl::flat_hash_map<std::string, std::string> Families() {
  absl::flat_hash_map<std::string, std::string> families;
  for (const rules::Family& family : rules::AllFamilies()) {
    for (const std::string& rule : rules::RuleNames({&family, 1})) families[rule] = family.name;
  }
  return families;
}

void PrintJson(const rules::RuleSet& set) {
  const auto families = Families();
  nlohmann::ordered_json list = nlohmann::ordered_json::array();
  for (const egraph::Rule* const rule : set.rules()) {
    list.push_back(RuleJson(*rule, families.at(rule->name()), CertificateOf(rule->name()),
                            rules::GuardsOf(rule->name())));
  }
  std::printf("%s\n", list.dump(2).c_str());
}

void PrintTable(const rules::RuleSet& set) {
  std::printf("%-24s %-22s %9s %8s %7s  %s\n", "rule", "certificate", "instances", "symbolic",
              "guards", "equation");
  for (const egraph::Rule* const rule : set.rules()) {
    const RecordedCertificate certificate = CertificateOf(rule->name());
    std::printf("%-24s %-22s %9d %8d %7s  %s\n", rule->name().c_str(), certificate.tier.c_str(),
                certificate.instances, certificate.symbolic,
                NeededOf(rules::GuardsOf(rule->name())).c_str(), rule->equation().c_str());
  }
  std::printf("\n%s\n", GuardCounts(rules::Guards()).c_str());
}

absl::StatusOr<timing::RuleStore> StoreOf(const Settings& settings) {
  if (settings.stats_from.empty()) return KeptStatistics(settings.environment);
  // A file that the user has typed must exist.
  QUOTIENT_RETURN_IF_ERROR(client::MapTypedFile(settings.stats_from).status());
  return timing::RuleStore(settings.stats_from);
}

absl::StatusOr<timing::RuleTable> ReadStats(const Settings& settings) {
  QUOTIENT_ASSIGN_OR_RETURN(const timing::RuleStore store, StoreOf(settings));
  absl::StatusOr<timing::RuleTable> stats = store.Read();
  // The user may have typed another file; that of the cache nobody has typed.
  if (!stats.ok() && !settings.stats_from.empty()) {
    return MakeError(Reason::kOptionInvalid, stats.status().message());
  }
  return stats;
}

absl::Status PrintStats(const Settings& settings, const rules::RuleSet& set) {
  RuleVersions versions;
  for (const egraph::Rule* const rule : set.rules()) {
    versions[rule->name()] = optimize::VersionOf(*rule);
  }
  QUOTIENT_ASSIGN_OR_RETURN(const timing::RuleTable stats, ReadStats(settings));
  std::fputs((settings.json ? StatsJson : StatsTable)(stats, versions).c_str(), stdout);
  return absl::OkStatus();
}

absl::Status NoSuchRule(const std::string& name, const rules::RuleSet& set) {
  std::vector<std::string> names;
  for (const egraph::Rule* const rule : set.rules()) names.push_back(rule->name());
  const std::vector<std::string> near = NearNames(name, names);
  return MakeError(
      Reason::kOptionInvalid,
      absl::StrCat("no rule is called '", Escaped(name), "'; ",
                   near.empty() ? "'quotient rules' lists them all"
                                : absl::StrCat("near it: ", absl::StrJoin(near, ", "))));
}

absl::Status PrintOne(const Settings& settings, const rules::RuleSet& set) {
  const std::string& name = settings.positional[0];
  const auto rule = std::ranges::find(set.rules(), name, &egraph::Rule::name);
  if (rule == set.rules().end()) return NoSuchRule(name, set);
  const RulePage page = {.rule = *rule,
                         .family = Families().at(name),
                         .certificate = CertificateOf(name),
                         .guards = rules::GuardsOf(name),
                         .stats = ReadStats(settings),
                         .version = optimize::VersionOf(**rule)};
  // Statistics that nobody asked for may be missing.
  const bool were_asked_for = settings.stats || !settings.stats_from.empty();
  if (were_asked_for) QUOTIENT_RETURN_IF_ERROR(page.stats.status());
  std::fputs((settings.json ? PageJson : PageText)(page).c_str(), stdout);
  return absl::OkStatus();
}

}  // namespace

absl::Status RunRules(const Settings& settings, client::Interrupt* /*interrupt*/) {
  domain::TensorDomain domain;
  QUOTIENT_ASSIGN_OR_RETURN(const rules::RuleSet set,
                            rules::BuildFamilies(&domain, rules::AllFamilies(), {}));
  if (!settings.positional.empty()) return PrintOne(settings, set);
  if (settings.stats || !settings.stats_from.empty()) return PrintStats(settings, set);
  settings.json ? PrintJson(set) : PrintTable(set);
  return absl::OkStatus();
}

}  // namespace quotient::cli
