// quotient rules: the rewrite rules, how each is known to be right, and what each was worth.

#include <cstdio>
#include <nlohmann/json.hpp>
#include <string>

#include "absl/container/flat_hash_map.h"
#include "client/cli/commands.h"
#include "client/cli/local.h"
#include "client/cli/rule_stats.h"
#include "client/cpp/typed_file.h"
#include "core/base/reason.h"
#include "core/base/status_macros.h"
#include "core/domain/tensor_domain.h"
#include "core/optimize/rule_statistics.h"
#include "core/rules/certificates.h"
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
    const RecordedCertificate certificate = CertificateOf(rule->name());
    list.push_back({{"name", rule->name()},
                    {"family", families.at(rule->name())},
                    {"equation", rule->equation()},
                    {"certificate",
                     {{"tier", certificate.tier},
                      {"instances", certificate.instances},
                      {"exact", certificate.exact},
                      {"symbolic", certificate.symbolic},
                      {"equations", certificate.equations},
                      {"largest_error", certificate.largest_error},
                      {"note", certificate.note}}}});
  }
  std::printf("%s\n", list.dump(2).c_str());
}

void PrintTable(const rules::RuleSet& set) {
  std::printf("%-24s %-22s %9s %8s  %s\n", "rule", "certificate", "instances", "symbolic",
              "equation");
  for (const egraph::Rule* const rule : set.rules()) {
    const RecordedCertificate certificate = CertificateOf(rule->name());
    std::printf("%-24s %-22s %9d %8d  %s\n", rule->name().c_str(), certificate.tier.c_str(),
                certificate.instances, certificate.symbolic, rule->equation().c_str());
  }
}

absl::StatusOr<timing::RuleStore> StoreOf(const Settings& settings) {
  if (settings.stats_from.empty()) return KeptStatistics(settings.environment);
  // A file that the user has typed must exist.
  QUOTIENT_RETURN_IF_ERROR(client::MapTypedFile(settings.stats_from).status());
  return timing::RuleStore(settings.stats_from);
}

absl::Status PrintStats(const Settings& settings, const rules::RuleSet& set) {
  RuleVersions versions;
  for (const egraph::Rule* const rule : set.rules()) {
    versions[rule->name()] = optimize::VersionOf(*rule);
  }
  QUOTIENT_ASSIGN_OR_RETURN(const timing::RuleStore store, StoreOf(settings));
  const absl::StatusOr<timing::RuleTable> stats = store.Read();
  if (!stats.ok()) {
    // The user may have typed another file; that of the cache nobody has typed.
    if (settings.stats_from.empty()) return stats.status();
    return MakeError(Reason::kOptionInvalid, stats.status().message());
  }
  std::fputs((settings.json ? StatsJson : StatsTable)(*stats, versions).c_str(), stdout);
  return absl::OkStatus();
}

}  // namespace

absl::Status RunRules(const Settings& settings, client::Interrupt* /*interrupt*/) {
  domain::TensorDomain domain;
  QUOTIENT_ASSIGN_OR_RETURN(const rules::RuleSet set,
                            rules::BuildFamilies(&domain, rules::AllFamilies(), {}));
  if (settings.stats || !settings.stats_from.empty()) return PrintStats(settings, set);
  settings.json ? PrintJson(set) : PrintTable(set);
  return absl::OkStatus();
}

}  // namespace quotient::cli
