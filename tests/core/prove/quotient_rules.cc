// quotient-rules: certificates of rewrite rules. With --help it tells what it does.

#include <algorithm>
#include <cstdio>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "core/base/status_macros.h"
#include "core/prove/certificate.h"
#include "core/rules/rule_set.h"
#include "tests/core/prove/generate_command.h"
#include "tests/core/prove/guards.h"
#include "tests/core/rules/rule_cases.h"
#include "tests/core/rules/soundness.h"
#include "tests/support/arguments.h"
#include "tests/support/program.h"

namespace quotient {
namespace {

using prove::Certificate;
using prove::Tier;

constexpr char kUsage[] = R"(usage: quotient-rules check [RULE...] [--instances N] [--seed N]
       quotient-rules guards [RULE...] [--instances N] [--seed N]
       quotient-rules generate [--operators NAME,...] [--size N] [--device DEVICE] [--without RULE,...]
                               [--instances N] [--seed N]

check applies each rule, or those named, in the graphs of tests/core/rules/cases and in random
variations of them: other shapes, windows and orders of axes. Both sides are compared as elements of a
prime field, where nothing is rounded, and as floats. A line per rule: its tier, the graphs in which it
applied and how many of them agreed exactly, the e-nodes compared, the largest error in floats, and the
functions that were left open or why it is not exact. The status is 1 if a rule is refuted or does not
apply.

guards does that without each guard of a rule in turn. A line per guard: "needed" if the rule is refuted
without it, "needed to build" if its right side cannot be built without it, else "not refuted": it is
there for rounding, for infinities and NaN, or for cost.

generate looks for rules. It enumerates graphs up to a size, takes those with equal values for
conjectures, and prints as rule text what the rules do not derive and what is proved. A table counts what
is left after each step.

Run it in the repository's root.

  --instances N   graphs in which each rule applies (20; generate: 10)
  --seed N        of everything random (0)
  --operators     sets of operators (ours): taso, ours, or those that core/generate/universe.cc names
  --size N        operators in a graph (3)
  --device NAME   whose prices tell which side of a rule is cheaper: model:h200 or another data sheet
  --without       rules that are taken to be unknown
)";
constexpr Program kProgram = {"quotient-rules", kUsage};

struct Options {
  std::string command;
  std::vector<std::string> words;  // Names of rules; empty: all.
  std::optional<int64_t> instances;
  std::optional<int64_t> seed;
  std::optional<int64_t> size;
  std::vector<std::string> operators;
  std::vector<std::string> without;
  std::string device;

  int num_instances() const { return static_cast<int>(instances.value_or(20)); }
  uint64_t first_seed() const { return static_cast<uint64_t>(seed.value_or(0)); }
};

absl::StatusOr<Options> ParseOptions(std::span<const char* const> words) {
  Options options;
  const Flag flags[] = {
      NumberFlag("--instances", 1, options.instances), NumberFlag("--seed", 0, options.seed),
      NumberFlag("--size", 1, options.size),           ListFlag("--operators", options.operators),
      ListFlag("--without", options.without),          TextFlag("--device", options.device)};
  QUOTIENT_RETURN_IF_ERROR(ParseArguments(words, flags, &options.words));
  static constexpr absl::string_view kCommands[] = {"check", "guards", "generate"};
  if (options.words.empty() ||
      std::ranges::find(kCommands, options.words[0]) == std::end(kCommands)) {
    return WrongArgument("COMMAND", "wants check, guards or generate");
  }
  options.command = options.words[0];
  options.words.erase(options.words.begin());
  const std::vector<std::string> names = rules::RuleNames();
  for (const std::vector<std::string>* const list : {&options.words, &options.without}) {
    for (const std::string& word : *list) {
      if (std::ranges::find(names, word) == names.end()) {
        return WrongArgument("RULE", absl::StrCat("no rule is called ", word));
      }
    }
  }
  return options;
}

// The rule of this name, with the set that owns it.
prove::RuleMaker MakerOf(const std::string& name) {
  return
      [name](domain::TensorDomain* domain) -> absl::StatusOr<std::shared_ptr<const egraph::Rule>> {
        constexpr int kMaxOpset = 20;
        QUOTIENT_ASSIGN_OR_RETURN(rules::RuleSet made, rules::BuildRules(domain, kMaxOpset, {}));
        const auto set = std::make_shared<const rules::RuleSet>(std::move(made));
        for (const egraph::Rule* const rule : set->rules()) {
          if (rule->name() == name) return std::shared_ptr<const egraph::Rule>(set, rule);
        }
        return absl::NotFoundError(absl::StrCat("no rule is called ", name));
      };
}

void Print(const std::string& name, const Certificate& certificate) {
  std::string more = absl::StrJoin(certificate.functions, " ");
  if (certificate.tier == Tier::kNumeric) more = certificate.why_not_exact;
  if (certificate.tier == Tier::kRefuted) more = certificate.counterexample;
  std::printf("%-28s %-22s %4d %4d %6lld %8.1e  %s\n", name.c_str(), NameOf(certificate.tier),
              certificate.instances, certificate.exact,
              static_cast<long long>(certificate.equations), certificate.largest_error,
              more.c_str());
  std::fflush(stdout);
}

absl::StatusOr<bool> Check(const Options& options) {
  std::map<std::string, std::vector<model::Graph>> graphs;
  for (const rules::RuleCase& each : rules::RuleCases()) {
    graphs[each.rule].push_back(rules::ParseStatic(each.fires));
  }
  std::map<Tier, int> counts;
  for (const std::string& name : options.words.empty() ? rules::RuleNames() : options.words) {
    QUOTIENT_ASSIGN_OR_RETURN(
        const Certificate certificate,
        prove::Certify(MakerOf(name), graphs[name], options.num_instances(), options.first_seed()));
    ++counts[certificate.tier];
    Print(name, certificate);
  }
  for (const auto& [tier, count] : counts) std::printf("%d %s\n", count, NameOf(tier));
  return counts[Tier::kRefuted] == 0 && counts[Tier::kNotApplied] == 0;
}

const char* NameOf(prove::Need need) {
  switch (need) {
    case prove::Need::kNeeded:
      return "needed";
    case prove::Need::kToBuild:
      return "needed to build";
    case prove::Need::kNotRefuted:
      return "not refuted";
  }
  return "";
}

absl::StatusOr<bool> Guards(const Options& options) {
  std::map<prove::Need, int> counts;
  for (const prove::GuardedRule& guarded : prove::AllGuards()) {
    if (!options.words.empty() &&
        std::ranges::find(options.words, guarded.rule) == options.words.end()) {
      continue;
    }
    QUOTIENT_ASSIGN_OR_RETURN(
        const prove::Need need,
        prove::NeedOf(guarded, options.num_instances(), options.first_seed()));
    ++counts[need];
    std::printf("%-28s %-40s %s\n", guarded.rule.c_str(), guarded.guard.c_str(), NameOf(need));
    std::fflush(stdout);
  }
  for (const auto& [need, count] : counts) std::printf("%d %s\n", count, NameOf(need));
  return true;
}

absl::StatusOr<bool> Generate(const Options& options) {
  prove::GenerateOptions generate;
  if (!options.operators.empty()) generate.operators = options.operators;
  generate.size = static_cast<int>(options.size.value_or(generate.size));
  generate.instances = static_cast<int>(options.instances.value_or(generate.instances));
  generate.seed = options.first_seed();
  generate.without = options.without;
  generate.device = options.device;
  return prove::RunGenerate(generate);
}

absl::StatusOr<bool> Run(const Options& options) {
  if (options.command == "generate") return Generate(options);
  return options.command == "check" ? Check(options) : Guards(options);
}

}  // namespace
}  // namespace quotient

int main(int argc, char** argv) {
  return quotient::RunProgram(quotient::kProgram, {argv + 1, static_cast<size_t>(argc - 1)},
                              quotient::ParseOptions, quotient::Run);
}
