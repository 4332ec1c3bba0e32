#include "tests/core/prove/guards.h"

#include <memory>
#include <utility>

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_split.h"
#include "absl/strings/strip.h"
#include "core/base/counted.h"
#include "core/base/status_macros.h"
#include "core/egraph/pattern.h"
#include "core/egraph/pattern_text.h"
#include "core/prove/certificate.h"
#include "core/rules/family.h"
#include "core/rules/rule_set.h"
#include "core/rules/vocabulary.h"
#include "tests/core/prove/apart.h"
#include "tests/core/rules/rule_cases.h"
#include "tests/core/rules/soundness.h"

namespace quotient::prove {
namespace {

// What the answer of the process that tries a rule begins with.
constexpr char kRefuted[] = "refuted: ";
constexpr char kNotRefuted[] = "not refuted: ";
constexpr char kNotTried[] = "not tried: ";
constexpr char kFailed[] = "failed: ";

class CountingSink final : public egraph::MatchSink {
 public:
  bool Add(egraph::Match) override { return ++count_ < kMost; }
  int count() const { return count_; }

 private:
  static constexpr int kMost = 100;
  int count_ = 0;
};

int CountMatches(const egraph::Rule& rule, const egraph::EGraph& graph) {
  CountingSink sink;
  rule.Search(graph, sink);
  return sink.count();
}

// How often a rule was searched for in a graph that has a match without its guard, and in one of
// which the guard refuses a match.
struct Searches {
  int with_matches = 0;
  int refused = 0;
};

// The rule without a guard. Counts its searches.
class Unguarded final : public egraph::Rule {
 public:
  Unguarded(std::unique_ptr<egraph::Rule> with, std::unique_ptr<egraph::Rule> without,
            Searches* searches)
      : with_(std::move(with)), without_(std::move(without)), searches_(*searches) {}

  const std::string& name() const override { return without_->name(); }
  const std::string& equation() const override { return without_->equation(); }
  std::vector<const egraph::Program*> programs() const override { return without_->programs(); }
  void Search(const egraph::EGraph& graph, egraph::MatchSink& sink) const override {
    const int matches = CountMatches(*without_, graph);
    searches_.with_matches += matches > 0 ? 1 : 0;
    searches_.refused += CountMatches(*with_, graph) < matches ? 1 : 0;
    without_->Search(graph, sink);
  }
  absl::StatusOr<bool> Apply(egraph::EGraph& graph, const egraph::Match& match,
                             egraph::Origin origin) const override {
    return without_->Apply(graph, match, origin);
  }

 private:
  const std::unique_ptr<egraph::Rule> with_;
  const std::unique_ptr<egraph::Rule> without_;
  Searches& searches_;
};

RuleMaker MakerOf(const GuardedRule& guarded, Searches* searches) {
  return [&guarded, searches](
             domain::TensorDomain* domain) -> absl::StatusOr<std::shared_ptr<const egraph::Rule>> {
    domain->LimitOpset(rules::kNewestOpset);
    rules::Words words(domain);
    rules::AddCommonWords(words);
    const rules::Family& family = rules::AllFamilies()[guarded.family];
    if (family.add_words != nullptr) family.add_words(words);
    QUOTIENT_ASSIGN_OR_RETURN(rules::RuleList with,
                              egraph::CompileRules(guarded.text, words.vocabulary()));
    QUOTIENT_ASSIGN_OR_RETURN(rules::RuleList without,
                              egraph::CompileRules(guarded.without, words.vocabulary()));
    return std::make_shared<const Unguarded>(std::move(with[0]), std::move(without[0]), searches);
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

// What is known of a rule that is not refuted without its guard.
std::string WhyNotRefuted(const Certificate& certificate, const Searches& searches) {
  std::string text = NameOf(certificate.tier);
  const std::string why = WhyNotHigher(certificate);
  if (certificate.tier == Tier::kNumeric) {
    absl::StrAppend(&text, ": ", why, "; ");
  } else {
    absl::StrAppend(&text, why.empty() ? "" : absl::StrCat(" (", why, ")"), " in ",
                    Counted(certificate.instances, "graph"), " with numbers and ",
                    certificate.symbolic, " with symbols; ");
  }
  if (searches.refused == 0) return text + "no graph that was tried has what it refuses";
  return absl::StrCat(text, "it refuses a match in ", searches.refused, " of ",
                      searches.with_matches, " searches that find one");
}

std::string AnswerOf(const GuardedRule& guarded, int instances, uint64_t seed) {
  Searches searches;
  const auto certificate =
      Certify(MakerOf(guarded, &searches), GraphsOf(guarded.rule),
              {.instances = instances, .symbolic = (instances + 1) / 2, .seed = seed});
  if (!certificate.ok()) return absl::StrCat(kFailed, certificate.status().message());
  if (certificate->tier == Tier::kRefuted) {
    return absl::StrCat(kRefuted, WhyNotHigher(*certificate));
  }
  if (certificate->tier == Tier::kNotApplied) {
    return absl::StrCat(kNotTried, WhyNotHigher(*certificate));
  }
  return absl::StrCat(kNotRefuted, WhyNotRefuted(*certificate, searches));
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
        all.push_back({name, split.guard, line.text, split.without, family});
      }
    }
  }
  return all;
}

absl::StatusOr<GuardFinding> NeedOf(const GuardedRule& guarded, int instances, uint64_t seed) {
  const absl::StatusOr<std::string> answer =
      RunApart([&] { return AnswerOf(guarded, instances, seed); });
  // The process ended without an answer, by an assertion, a signal or a sanitizer.
  if (absl::IsAborted(answer.status())) {
    return GuardFinding{Need::kToBuild, std::string(answer.status().message())};
  }
  QUOTIENT_RETURN_IF_ERROR(answer.status());
  absl::string_view text = *answer;
  constexpr std::pair<const char*, Need> kNeeds[] = {
      {kRefuted, Need::kNeeded}, {kNotRefuted, Need::kNotRefuted}, {kNotTried, Need::kNotTried}};
  for (const auto& [prefix, need] : kNeeds) {
    if (absl::ConsumePrefix(&text, prefix)) return GuardFinding{need, std::string(text)};
  }
  return absl::InternalError(absl::StrCat("cannot be tried: ", guarded.without, ": ", text));
}

}  // namespace quotient::prove
