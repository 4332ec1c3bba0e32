#include "core/optimize/rule_statistics.h"

#include "absl/strings/str_cat.h"
#include "core/base/clock.h"
#include "core/base/digest.h"
#include "core/base/log.h"
#include "core/base/status_macros.h"
#include "core/domain/tensor_domain.h"
#include "core/rules/rule_set.h"

namespace quotient::optimize {
namespace {

absl::StatusOr<std::map<std::string, std::string>> VersionsOf(
    std::span<const rules::Family> families) {
  domain::TensorDomain domain;
  QUOTIENT_ASSIGN_OR_RETURN(const rules::RuleSet set, rules::BuildFamilies(&domain, families, {}));
  std::map<std::string, std::string> versions;
  for (const egraph::Rule* const rule : set.rules()) versions[rule->name()] = VersionOf(*rule);
  return versions;
}

absl::Status Add(const Job& job, const report::Report& report) {
  QUOTIENT_ASSIGN_OR_RETURN(const auto versions, VersionsOf(job.families));
  const int64_t unix_s = job.environment.clock.UnixMs() / 1000;
  return job.environment.rule_store->Add(report.fingerprint,
                                         StatisticsOf(report, versions, unix_s));
}

}  // namespace

std::string VersionOf(const egraph::Rule& rule) {
  constexpr size_t kHexDigits = 16;
  const std::string text = rule.text();
  const std::string identity =
      text.empty() ? absl::StrCat("by hand ", EngineVersion()) : absl::StrCat("text ", text);
  return Digest::Of(absl::StrCat(rule.equation(), "\n", identity)).Hex().substr(0, kHexDigits);
}

timing::DeviceRules StatisticsOf(const report::Report& report,
                                 const std::map<std::string, std::string>& versions,
                                 int64_t unix_s) {
  const auto share = [&report](double us) {
    return report.original.predicted_us > 0 ? us / report.original.predicted_us : 0;
  };
  timing::DeviceRules job = {.jobs = 1, .last_unix_s = unix_s};
  for (const auto& [name, figures] : report.rules) {
    const auto version = versions.find(name);
    if (version == versions.end()) continue;
    job.rules[{name, version->second}] = {.jobs = 1,
                                          .jobs_won = figures.uses > 0 ? 1 : 0,
                                          .matches = figures.matches,
                                          .applied = figures.applied,
                                          .enodes = figures.enodes,
                                          .uses = figures.uses,
                                          .saved = share(figures.saved_us),
                                          .saved_alone = share(figures.saved_alone_us),
                                          .last_unix_s = unix_s};
  }
  return job;
}

void KeepStatistics(const Job& job, const report::Report& report) {
  if (job.environment.rule_store == nullptr || !report.passed_through.empty()) return;
  if (const absl::Status added = Add(job, report); !added.ok()) {
    Log().warn("statistics of rules are not kept: {}", std::string(added.message()));
  }
}

}  // namespace quotient::optimize
