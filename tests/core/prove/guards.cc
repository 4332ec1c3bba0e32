#include "tests/core/prove/guards.h"

#include <algorithm>
#include <map>
#include <memory>
#include <span>
#include <utility>

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_replace.h"
#include "absl/strings/str_split.h"
#include "absl/strings/strip.h"
#include "core/base/counted.h"
#include "core/base/rng.h"
#include "core/base/status_macros.h"
#include "core/egraph/pattern.h"
#include "core/egraph/pattern_text.h"
#include "core/prove/certificate.h"
#include "core/rules/family.h"
#include "core/rules/guard_notes.h"
#include "core/rules/rule_set.h"
#include "core/rules/vocabulary.h"
#include "tests/core/prove/apart.h"
#include "tests/core/prove/guard_numbers.h"
#include "tests/core/prove/guard_pool.h"
#include "tests/core/rules/rule_cases.h"
#include "tests/core/rules/soundness.h"

namespace quotient::prove {
namespace {

// What the answer of the process that tries a rule begins with.
constexpr char kRefuted[] = "refuted: ";
constexpr char kSomeNumbers[] = "for some numbers: ";
constexpr char kNotRefuted[] = "not refuted: ";
constexpr char kNotTried[] = "not tried: ";
constexpr char kFailed[] = "failed: ";

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

void AddWordsOf(size_t family, rules::Words& words) {
  rules::AddCommonWords(words);
  const auto add_words = rules::AllFamilies()[family].add_words;
  if (add_words != nullptr) add_words(words);
}

// Makes the only rule of a text with the words of a family.
absl::StatusOr<std::unique_ptr<egraph::Rule>> RuleOf(const std::string& text, size_t family,
                                                     domain::TensorDomain* domain) {
  domain->LimitOpset(rules::kNewestOpset);
  rules::Words words(domain);
  AddWordsOf(family, words);
  QUOTIENT_ASSIGN_OR_RETURN(rules::RuleList made, egraph::CompileRules(text, words.vocabulary()));
  return std::move(made[0]);
}

RuleMaker MakerOf(const std::string& text, size_t family) {
  return [&text, family](
             domain::TensorDomain* domain) -> absl::StatusOr<std::shared_ptr<const egraph::Rule>> {
    return RuleOf(text, family, domain);
  };
}

RuleMaker UnguardedMaker(const GuardedRule& guarded, Searches* searches) {
  return [&guarded, searches](
             domain::TensorDomain* domain) -> absl::StatusOr<std::shared_ptr<const egraph::Rule>> {
    QUOTIENT_ASSIGN_OR_RETURN(auto with, RuleOf(guarded.text, guarded.family, domain));
    QUOTIENT_ASSIGN_OR_RETURN(auto without, RuleOf(guarded.without, guarded.family, domain));
    return std::make_shared<const Unguarded>(std::move(with), std::move(without), searches);
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

rules::Purpose PurposeOf(const GuardedRule& guarded) {
  const rules::GuardNote* const note = rules::NoteOn(guarded.rule, guarded.guard);
  if (note != nullptr) return note->purpose;
  domain::TensorDomain domain;
  rules::Words words(&domain);
  AddWordsOf(guarded.family, words);
  const absl::string_view guard = absl::StripPrefix(guarded.guard, "not ");
  return words.purpose(guard.substr(0, guard.find('('))).value();
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

// A rule and the rule without one of its guards.
struct Pair {
  RuleMaker with;
  RuleMaker without;
};

bool IsRefutedIn(const RuleMaker& rule, const model::Graph& graph) {
  if (MatchesIn(rule, graph).value_or(0) == 0) return false;
  const auto certificate =
      Certify(rule, std::span(&graph, 1), {.instances = 0, .symbolic = 0, .seed = 0});
  return !certificate.ok() || certificate->tier == Tier::kRefuted;
}

// Graphs that tell something about the guard: none if the rule itself, guarded, does not hold in
// such graphs, whose numbers may be extreme.
absl::StatusOr<GuardPool> FairPool(const Pair& pair, std::span<const model::Graph> graphs,
                                   uint64_t seed) {
  Rng rng(seed, 29);
  QUOTIENT_ASSIGN_OR_RETURN(GuardPool pool, PoolOf(pair.with, pair.without, graphs, rng));
  const auto is_refuted = [&](const model::Graph& graph) { return IsRefutedIn(pair.with, graph); };
  if (std::ranges::any_of(pool.accepted, is_refuted)) return GuardPool();
  std::erase_if(pool.refused, is_refuted);
  return pool;
}

absl::StatusOr<std::string> TryGuard(const GuardedRule& guarded, const Pair& pair,
                                     const GuardPool& pool, const Trials& trials,
                                     const Searches& searches) {
  std::vector<model::Graph> graphs = GraphsOf(guarded.rule);
  graphs.insert(graphs.end(), pool.refused.begin(), pool.refused.end());
  QUOTIENT_ASSIGN_OR_RETURN(const Certificate certificate, Certify(pair.without, graphs, trials));
  if (certificate.tier == Tier::kRefuted) {
    return absl::StrCat(kRefuted, WhyNotHigher(certificate));
  }
  const std::string why = certificate.tier == Tier::kNotApplied
                              ? absl::StrCat(kNotTried, WhyNotHigher(certificate))
                              : absl::StrCat(kNotRefuted, WhyNotRefuted(certificate, searches));
  QUOTIENT_ASSIGN_OR_RETURN(const std::string numbers,
                            DifferenceInNumbers({PurposeOf(guarded), pair.with, pair.without,
                                                 pool.accepted, pool.refused, trials.seed}));
  return numbers.empty() ? why : absl::StrCat(kSomeNumbers, numbers);
}

// What a process does about a guard.
enum class Work {
  kPool,         // Only makes the graphs.
  kWithPool,     // Tries the guard in them.
  kWithoutPool,  // Tries it in the graphs of the cases alone.
};

std::string AnswerOf(const GuardedRule& guarded, Work work, const Trials& trials) {
  Searches searches;
  const Pair pair = {MakerOf(guarded.text, guarded.family), UnguardedMaker(guarded, &searches)};
  GuardPool pool;
  if (work != Work::kWithoutPool) {
    const RuleMaker without = MakerOf(guarded.without, guarded.family);
    auto made = FairPool({pair.with, without}, GraphsOf(guarded.rule), trials.seed);
    if (!made.ok()) return absl::StrCat(kFailed, made.status().message());
    pool = *std::move(made);
  }
  if (work == Work::kPool) return "";
  const auto answer = TryGuard(guarded, pair, pool, trials, searches);
  return answer.ok() ? *answer : absl::StrCat(kFailed, answer.status().message());
}

}  // namespace

const char* NameOf(Need need) {
  switch (need) {
    case Need::kNeeded:
      return "needed";
    case Need::kToBuild:
      return "needed to build";
    case Need::kForSomeNumbers:
      return "needed for some numbers";
    case Need::kNotRefuted:
      return "not refuted";
    case Need::kNotTried:
      return "not tried";
  }
  return "";
}

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
  std::map<std::string, int> lefts;
  for (size_t family = 0; family < rules::AllFamilies().size(); ++family) {
    for (const egraph::RuleLine& line : egraph::SplitRules(rules::AllFamilies()[family].text)) {
      const std::string name = line.text.substr(0, line.text.find(':'));
      const int left = ++lefts[name];
      for (size_t i = 0;; ++i) {
        const Split split = WithoutGuard(line.text, i);
        if (split.guard.empty()) break;
        all.push_back({name, left, split.guard, line.text, split.without, family});
      }
    }
  }
  return all;
}

absl::StatusOr<GuardFinding> NeedOf(const GuardedRule& guarded, int instances, uint64_t seed) {
  const Trials trials = {.instances = instances, .symbolic = (instances + 1) / 2, .seed = seed};
  const auto apart = [&](Work work) {
    return RunApart([&] { return AnswerOf(guarded, work, trials); });
  };
  absl::StatusOr<std::string> answer = apart(Work::kWithPool);
  // The process ended without an answer, by an assertion, a signal or a sanitizer. If already the
  // graphs did that, it is not the rule's doing.
  if (absl::IsAborted(answer.status()) && !apart(Work::kPool).ok()) {
    answer = apart(Work::kWithoutPool);
  }
  if (absl::IsAborted(answer.status())) {
    return GuardFinding{Need::kToBuild, std::string(answer.status().message())};
  }
  QUOTIENT_RETURN_IF_ERROR(answer.status());
  absl::string_view text = *answer;
  constexpr std::pair<const char*, Need> kNeeds[] = {{kRefuted, Need::kNeeded},
                                                     {kSomeNumbers, Need::kForSomeNumbers},
                                                     {kNotRefuted, Need::kNotRefuted},
                                                     {kNotTried, Need::kNotTried}};
  for (const auto& [prefix, need] : kNeeds) {
    if (absl::ConsumePrefix(&text, prefix)) return GuardFinding{need, std::string(text)};
  }
  return absl::InternalError(absl::StrCat("cannot be tried: ", guarded.without, ": ", text));
}

rules::RecordedGuard RecordOf(const GuardedRule& guarded, const GuardFinding& finding) {
  const bool is_needed = finding.need != Need::kNotRefuted && finding.need != Need::kNotTried;
  const bool says_all = finding.need == Need::kNeeded || finding.need == Need::kNotRefuted;
  const std::string finding_text =
      says_all ? finding.why : absl::StrCat(NameOf(finding.need), ": ", finding.why);
  return {.rule = guarded.rule,
          .left = guarded.left,
          .guard = guarded.guard,
          .is_needed = is_needed,
          .purpose = PurposeOf(guarded),
          .finding = absl::StrReplaceAll(finding_text, {{"\t", " "}, {"\n", " "}})};
}

bool IsExplained(const rules::RecordedGuard& guard) {
  return guard.is_needed || guard.purpose != rules::Purpose::kEquation ||
         rules::NoteOn(guard.rule, guard.guard) != nullptr;
}

}  // namespace quotient::prove
