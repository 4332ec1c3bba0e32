#include "tests/core/prove/guards.h"

#include <fcntl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdio>
#include <memory>
#include <utility>

#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_split.h"
#include "core/base/status_macros.h"
#include "core/egraph/pattern.h"
#include "core/egraph/pattern_text.h"
#include "core/prove/certificate.h"
#include "core/rules/family.h"
#include "core/rules/rule_set.h"
#include "core/rules/vocabulary.h"
#include "tests/core/rules/rule_cases.h"
#include "tests/core/rules/soundness.h"

namespace quotient::prove {
namespace {

// Exit statuses of the process.
constexpr int kRefuted = 10;
constexpr int kNotRefuted = 11;
constexpr int kFailed = 12;

RuleMaker MakerOf(const GuardedRule& guarded) {
  return [&guarded](
             domain::TensorDomain* domain) -> absl::StatusOr<std::shared_ptr<const egraph::Rule>> {
    domain->LimitOpset(rules::kNewestOpset);
    rules::Words words(domain);
    rules::AddCommonWords(words);
    const rules::Family& family = rules::AllFamilies()[guarded.family];
    if (family.add_words != nullptr) family.add_words(words);
    QUOTIENT_ASSIGN_OR_RETURN(rules::RuleList compiled,
                              egraph::CompileRules(guarded.without, words.vocabulary()));
    return std::shared_ptr<const egraph::Rule>(std::move(compiled[0]));
  };
}

std::vector<model::Graph> GraphsOf(const std::string& rule) {
  std::vector<model::Graph> graphs;
  for (const rules::RuleCase& each : rules::RuleCases()) {
    if (each.rule != rule) continue;
    graphs.push_back(rules::ParseStatic(each.fires));
    graphs.push_back(rules::ParseStatic(each.refused));
  }
  return graphs;
}

int StatusOfTrying(const GuardedRule& guarded, int instances, uint64_t seed) {
  const auto certificate =
      Certify(MakerOf(guarded), GraphsOf(guarded.rule),
              {.instances = instances, .symbolic = (instances + 1) / 2, .seed = seed});
  if (!certificate.ok()) return kFailed;
  return certificate->tier == Tier::kRefuted ? kRefuted : kNotRefuted;
}

}  // namespace

Split WithoutGuard(absl::string_view rule_text, size_t index) {
  const std::vector<std::string> words =
      absl::StrSplit(rule_text, absl::ByAnyChar(" \n\t"), absl::SkipEmpty());
  const std::string text = absl::StrJoin(words, " ");
  const std::vector<std::string> parts = absl::StrSplit(text, absl::MaxSplits(" if ", 1));
  if (parts.size() < 2) return {};
  std::vector<std::string> guards = absl::StrSplit(parts[1], " and ");
  if (index >= guards.size()) return {};
  Split split;
  split.guard = guards[index];
  guards.erase(guards.begin() + static_cast<std::ptrdiff_t>(index));
  split.without =
      guards.empty() ? parts[0] : absl::StrCat(parts[0], " if ", absl::StrJoin(guards, " and "));
  return split;
}

std::vector<GuardedRule> AllGuards() {
  std::vector<GuardedRule> all;
  for (size_t family = 0; family < rules::AllFamilies().size(); ++family) {
    for (const egraph::RuleLine& line : egraph::SplitRules(rules::AllFamilies()[family].text)) {
      const std::string name = line.text.substr(0, line.text.find(':'));
      for (size_t i = 0;; ++i) {
        const Split split = WithoutGuard(line.text, i);
        if (split.guard.empty()) break;
        all.push_back({name, split.guard, split.without, family});
      }
    }
  }
  return all;
}

absl::StatusOr<Need> NeedOf(const GuardedRule& guarded, int instances, uint64_t seed) {
  std::fflush(nullptr);
  const pid_t child = fork();
  if (child < 0) return absl::InternalError("no process");
  if (child == 0) {
    const int nothing = open("/dev/null", O_WRONLY);
    dup2(nothing, STDERR_FILENO);
    _exit(StatusOfTrying(guarded, instances, seed));
  }
  int status = 0;
  if (waitpid(child, &status, 0) != child) return absl::InternalError("the process is lost");
  if (!WIFEXITED(status)) return Need::kToBuild;
  if (WEXITSTATUS(status) == kNotRefuted) return Need::kNotRefuted;
  if (WEXITSTATUS(status) == kRefuted) return Need::kNeeded;
  if (WEXITSTATUS(status) != kFailed) return Need::kToBuild;  // A sanitizer ended it.
  return absl::InternalError(absl::StrCat("cannot be tried: ", guarded.without));
}

}  // namespace quotient::prove
