// quotient-rules: certificates of rewrite rules. With --help it tells what it does.

#include <algorithm>
#include <cstdio>
#include <filesystem>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "core/base/status_macros.h"
#include "core/rules/rule_set.h"
#include "tests/core/prove/check_command.h"
#include "tests/core/prove/generate_command.h"
#include "tests/core/prove/guards_command.h"
#include "tests/core/prove/predecessor_findings.h"
#include "tests/core/prove/predecessors.h"
#include "tests/core/prove/soak_command.h"
#include "tests/support/arguments.h"
#include "tests/support/program.h"

namespace quotient {
namespace {

constexpr char kUsage[] =
    R"(usage: quotient-rules check [RULE...] [--rules FILE] [--instances N] [--seed N] [--record FILE]
       quotient-rules guards [RULE...] [--instances N] [--seed N] [--record FILE]
       quotient-rules predecessors [--instances N] [--seed N]
       quotient-rules generate [--operators NAME,...] [--size N] [--device DEVICE] [--without RULE,...]
                               [--instances N] [--seed N]
       quotient-rules soak [RULE...] [--graphs N] [--firings N] [--onnxruntime FILE] [--record FILE]
                           [--seed N]

check applies each rule, or those named, in the graphs of tests/core/rules/cases and in random
variations of them: other shapes, windows and orders of axes. Both sides are compared as elements of a
prime field, where nothing is rounded, and in double at several points. It does the same in graphs whose
sizes are symbols, each for several sizes. A line per rule: its tier, the graphs with numbers in which
it applied and how many of them agreed exactly, the graphs with symbols, the e-nodes compared, the
largest error in double, and the functions that were left open, or what kept it from a higher tier: the
operator, the graphs that are not exact, the guards that refuse. Below a rule that is refuted is the
graph in which both sides differ. The status is 1 if a rule is refuted or does not apply.

With --rules it checks the rules of FILE, in the form of core/egraph/pattern.h, with the guards and
functions of all families of core/rules. Graphs are drawn from their left sides, and are those of our own
cases in which they match. Each rule has a process of its own, of 2 minutes and 4 GB; "not certified" is
one whose process ended without an answer, as when a right side cannot be built without a guard that is
missing. The status is then 1, too. A file has at most 1 MiB and 1000 rules, a rule 4096 bytes.

guards does that without each guard of a rule in turn, also in graphs made to have what the guard refuses,
and with numbers of other sizes, infinities and NaN. A line per guard, with the place of its left side among
those of the rule: "needed" if the rule is refuted without it, "needed to build" if its right side cannot be
built without it, "needed for some numbers", "not tried" if it applies in no graph even then, else "not
refuted"; then what the guard is for, as its word declares; and what differs without the guard, or the rule's
tier without it, the graphs compared, and in how many searches that find a match the guard refuses one. The
last lines count them. The status is 1 if a guard is part of an equation, but nothing shows that, and no note
of core/rules/guard_notes.cc says why.

predecessors examines the rules of TASO and TENSAT (tests/core/prove/predecessors). A line per rule: whether
it is sound, repaired by a side condition or refused, whether the rules here derive it, the instances in
which both sides were compared, and the equation. The status is 1 if that is not what the files say.

generate looks for rules. It enumerates graphs up to a size, takes those with equal values for
conjectures, and prints as rule text what the rules do not derive and what is proved. A table counts what
is left after each step. How far it is goes to standard error, a line for each step and each second.

soak applies all rules together in random graphs and in random variations of the cases of the rules, or
of those named, until each of these has changed a number of graphs. Every e-node is compared with its
class in the reference evaluator, and of a tenth of the graphs the rewritten form with the original in
ONNX Runtime. A line per rule: the graphs that it changed, how often, and those compared in ONNX Runtime.
The status is 1 if something differs or a rule has changed too few, which the last lines name.

Run it in the repository's root.

  --rules FILE    check: the rules of FILE instead of our own
  --record FILE   check: write the certificates to FILE, as core/rules/certificates.txt has them;
                  guards: the findings, as core/rules/guards.txt has them; soak: write the lines to FILE
  --instances N   graphs with numbers in which each rule applies, and twice the graphs with symbols
                  (20; guards, generate: 10)
  --seed N        of everything random (0)
  --operators     sets of operators (ours): taso, ours, or those that core/generate/universe.cc names
  --size N        operators in a graph (3)
  --device NAME   whose prices tell which side of a rule is cheaper: model:h200 or another data sheet
  --without       rules that are taken to be unknown
  --graphs N      graphs, at least (1000)
  --firings N     graphs that each rule has to change (10)
  --onnxruntime FILE   the library that a tenth of the graphs is run by (none)
)";
constexpr Program kProgram = {"quotient-rules", kUsage};

struct Options {
  std::string command;
  std::vector<std::string> words;  // Names of rules; empty: all.
  std::optional<int64_t> instances;
  std::optional<int64_t> seed;
  std::string rules_file;
  std::string record;
  std::optional<int64_t> size;
  std::vector<std::string> operators;
  std::vector<std::string> without;
  std::string device;
  std::optional<int64_t> graphs;
  std::optional<int64_t> firings;
  std::string onnxruntime;

  int num_instances() const { return static_cast<int>(instances.value_or(20)); }
  uint64_t first_seed() const { return static_cast<uint64_t>(seed.value_or(0)); }
};

absl::StatusOr<Options> ParseOptions(std::span<const char* const> words) {
  Options options;
  const Flag flags[] = {
      NumberFlag("--instances", 1, options.instances), NumberFlag("--seed", 0, options.seed),
      NumberFlag("--size", 1, options.size),           ListFlag("--operators", options.operators),
      ListFlag("--without", options.without),          TextFlag("--device", options.device),
      NumberFlag("--graphs", 1, options.graphs),       NumberFlag("--firings", 0, options.firings),
      TextFlag("--onnxruntime", options.onnxruntime),  TextFlag("--record", options.record),
      TextFlag("--rules", options.rules_file)};
  QUOTIENT_RETURN_IF_ERROR(ParseArguments(words, flags, &options.words));
  static constexpr absl::string_view kCommands[] = {"check", "guards", "predecessors", "generate",
                                                    "soak"};
  if (options.words.empty() ||
      std::ranges::find(kCommands, options.words[0]) == std::end(kCommands)) {
    return WrongArgument("COMMAND", "wants check, guards, predecessors, generate or soak");
  }
  options.command = options.words[0];
  options.words.erase(options.words.begin());
  if (!options.rules_file.empty()) {
    // The names are those of the file's rules then.
    if (options.command != "check") return WrongArgument("--rules", "goes with check alone");
    return options;
  }
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

absl::StatusOr<bool> Check(const Options& options) {
  return prove::RunCheck({.rules = options.words,
                          .file = options.rules_file,
                          .instances = options.num_instances(),
                          .seed = options.first_seed(),
                          .record = options.record});
}

absl::StatusOr<bool> Guards(const Options& options) {
  // The graphs made for each guard come on top of these.
  return prove::RunGuards({.rules = options.words,
                           .instances = static_cast<int>(options.instances.value_or(10)),
                           .seed = options.first_seed(),
                           .record = options.record});
}

absl::StatusOr<bool> Predecessors(const Options& options) {
  std::map<std::string, int> counts;
  bool as_expected = true;
  for (const prove::Predecessor& rule : prove::Predecessors()) {
    QUOTIENT_ASSIGN_OR_RETURN(const prove::Finding finding,
                              prove::Examine(rule, options.num_instances(), options.first_seed()));
    as_expected &= prove::IsAsExpected(rule, finding);
    const std::string derivation = prove::DerivationText(rule, finding);
    const absl::string_view group = rule.is_variant() ? "variants " : "";
    ++counts[absl::StrCat(group, NameOf(rule.mark))];
    if (!derivation.empty()) ++counts[absl::StrCat(group, derivation)];
    std::printf("%-28s %-9s %-20s %4d  %s\n", rule.name.c_str(), NameOf(rule.mark),
                derivation.c_str(), finding.instances, rule.equation.c_str());
    if (!finding.difference.empty()) std::printf("  %s\n", finding.difference.c_str());
  }
  for (const auto& [word, count] : counts) std::printf("%d %s\n", count, word.c_str());
  return as_expected;
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

absl::StatusOr<bool> Soak(const Options& options) {
  prove::SoakCommand soak;
  soak.rules = options.words;
  soak.graphs = options.graphs.value_or(soak.graphs);
  soak.firings = options.firings.value_or(soak.firings);
  soak.seed = options.first_seed();
  soak.onnxruntime = options.onnxruntime;
  soak.record = options.record;
  return prove::RunSoak(soak);
}

absl::StatusOr<bool> Run(const Options& options) {
  constexpr char kCases[] = "tests/core/rules/cases";
  if (!std::filesystem::is_directory(kCases)) {
    return absl::FailedPreconditionError(
        absl::StrCat("there is no ", kCases, " here: run it in the repository's root"));
  }
  if (options.command == "soak") return Soak(options);
  if (options.command == "generate") return Generate(options);
  if (options.command == "guards") return Guards(options);
  return options.command == "check" ? Check(options) : Predecessors(options);
}

}  // namespace
}  // namespace quotient

int main(int argc, char** argv) {
  return quotient::RunProgram(quotient::kProgram, {argv + 1, static_cast<size_t>(argc - 1)},
                              quotient::ParseOptions, quotient::Run);
}
