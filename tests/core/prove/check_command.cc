#include "tests/core/prove/check_command.h"

#include <algorithm>
#include <cstdio>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <utility>

#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_replace.h"
#include "core/base/status_macros.h"
#include "core/os/atomic_file.h"
#include "core/prove/certificate.h"
#include "core/prove/symbols.h"
#include "core/rules/certificates.h"
#include "core/rules/rule_set.h"
#include "tests/core/prove/apart.h"
#include "tests/core/prove/own_rules.h"
#include "tests/core/prove/rule_file.h"
#include "tests/core/prove/rule_graphs.h"
#include "tests/core/rules/rule_cases.h"
#include "tests/core/rules/soundness.h"

namespace quotient::prove {
namespace {

using rules::RecordedCertificate;

// What stands in the place of a tier if there is no certificate.
constexpr char kNotCertified[] = "not certified";

// What a process that certifies a rule of a user may take.
constexpr ApartLimits kLimits = {.seconds = 120, .memory_bytes = int64_t{4} << 30};

// A certificate, and the graph of the counterexample if the rule is refuted.
struct Checked {
  RecordedCertificate certificate;
  std::string graph;
};

Checked CheckedOf(const Certificate& certificate) {
  Checked checked;
  checked.certificate = {.tier = NameOf(certificate.tier),
                         .instances = certificate.instances,
                         .exact = certificate.exact,
                         .symbolic = certificate.symbolic,
                         .equations = certificate.equations,
                         .largest_error = certificate.largest_error,
                         .note = absl::StrReplaceAll(WhyNotHigher(certificate), {{"\t", " "}})};
  const size_t end_of_line = certificate.counterexample.find('\n');
  if (end_of_line != std::string::npos) {
    checked.graph = certificate.counterexample.substr(end_of_line + 1);
    absl::StripTrailingAsciiWhitespace(&checked.graph);
  }
  return checked;
}

// Prints certificates as they come, and counts them.
class Report {
 public:
  void Add(const std::string& name, const Checked& checked) {
    const RecordedCertificate& certificate = checked.certificate;
    std::printf("%-28s %-22s %4d %4d %4d %6lld %8.1e  %s\n", name.c_str(), certificate.tier.c_str(),
                certificate.instances, certificate.exact, certificate.symbolic,
                static_cast<long long>(certificate.equations), certificate.largest_error,
                certificate.note.c_str());
    if (!checked.graph.empty()) {
      std::printf("  %s\n", absl::StrReplaceAll(checked.graph, {{"\n", "\n  "}}).c_str());
    }
    std::fflush(stdout);
    ++counts_[certificate.tier];
    recorded_[name] = certificate;
  }

  // Returns whether every rule holds.
  absl::StatusOr<bool> Finish(const std::string& record) {
    if (!record.empty()) {
      QUOTIENT_ASSIGN_OR_RETURN(const auto file, os::AtomicFile::Create(record));
      QUOTIENT_RETURN_IF_ERROR(file->Append(ToText(recorded_)));
      QUOTIENT_RETURN_IF_ERROR(file->Commit());
    }
    for (const auto& [tier, count] : counts_) std::printf("%d %s\n", count, tier.c_str());
    return !counts_.contains(NameOf(Tier::kRefuted)) &&
           !counts_.contains(NameOf(Tier::kNotApplied)) && !counts_.contains(kNotCertified);
  }

 private:
  std::map<std::string, int> counts_;  // By tier.
  rules::RecordedCertificates recorded_;
};

Trials TrialsOf(const CheckOptions& options) {
  return {.instances = options.instances,
          .symbolic = (options.instances + 1) / 2,
          .seed = options.seed};
}

// --- Our own rules

absl::StatusOr<bool> CheckOwn(const CheckOptions& options) {
  std::map<std::string, std::vector<model::Graph>> graphs;
  for (const rules::RuleCase& each : rules::RuleCases()) {
    graphs[each.rule].push_back(rules::ParseStatic(each.fires));
    // Sizes that a rule refuses because they may be unequal may be equal, too.
    const model::Graph refused = rules::ParseStatic(each.refused);
    if (!IsStatic(refused)) graphs[each.rule].push_back(refused);
  }
  Report report;
  for (const std::string& name : options.rules.empty() ? rules::RuleNames() : options.rules) {
    QUOTIENT_ASSIGN_OR_RETURN(const Certificate certificate,
                              Certify(MakerOf(name), graphs[name], TrialsOf(options)));
    report.Add(name, CheckedOf(certificate));
  }
  return report.Finish(options.record);
}

// --- Rules of a file

// The answer of the process that certifies a rule: the certificate's line and the counterexample's
// graph, or this and what failed.
constexpr char kFailed[] = "failed: ";

std::string AnswerOf(const FileRule& rule, const RuleGraphs& graphs, const CheckOptions& options) {
  Trials trials = TrialsOf(options);
  trials.variations = options.instances;
  const RuleMaker maker = MakerOf(rule);
  const auto found = graphs.Of(rule, options.seed);
  const auto certificate = found.ok() ? Certify(maker, *found, trials) : found.status();
  if (!certificate.ok()) return absl::StrCat(kFailed, certificate.status().message());
  const Checked checked = CheckedOf(*certificate);
  return rules::ToText({{rule.name, checked.certificate}}) + checked.graph;
}

Checked NotCertified(absl::string_view why) {
  return {.certificate = {.tier = kNotCertified,
                          .note = absl::StrReplaceAll(why, {{"\n", " "}, {"\t", " "}})},
          .graph = ""};
}

Checked CheckApart(const FileRule& rule, const RuleGraphs& graphs, const CheckOptions& options) {
  const absl::StatusOr<std::string> answer =
      RunApart([&] { return AnswerOf(rule, graphs, options); }, kLimits);
  if (absl::IsAborted(answer.status())) {
    return NotCertified(absl::StrCat(answer.status().message(),
                                     ": in some graph its right side cannot be built, or takes all "
                                     "memory; a guard may be missing"));
  }
  if (!answer.ok()) return NotCertified(answer.status().message());
  const size_t end_of_line = answer->find('\n');
  const auto certificates = rules::ParseCertificates(answer->substr(0, end_of_line));
  if (!certificates.ok() || certificates->size() != 1) return NotCertified(*answer);
  return {certificates->begin()->second, answer->substr(end_of_line + 1)};
}

absl::StatusOr<bool> CheckFile(const CheckOptions& options) {
  QUOTIENT_ASSIGN_OR_RETURN(const std::vector<FileRule> rules, ReadRuleFile(options.file));
  for (const std::string& name : options.rules) {
    if (std::ranges::find(rules, name, &FileRule::name) != rules.end()) continue;
    return absl::InvalidArgumentError(absl::StrCat("RULE: ", options.file, " has no rule ", name));
  }
  const RuleGraphs graphs;
  Report report;
  for (const FileRule& rule : rules) {
    const bool is_wanted =
        options.rules.empty() || std::ranges::find(options.rules, rule.name) != options.rules.end();
    if (is_wanted) report.Add(rule.name, CheckApart(rule, graphs, options));
  }
  return report.Finish(options.record);
}

}  // namespace

absl::StatusOr<bool> RunCheck(const CheckOptions& options) {
  return options.file.empty() ? CheckOwn(options) : CheckFile(options);
}

}  // namespace quotient::prove
