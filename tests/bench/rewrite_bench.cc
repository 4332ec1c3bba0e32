// How small a search makes terms of the domains "math" and "prop"; --help has the options.

#include <algorithm>
#include <cstdio>
#include <iterator>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "core/base/clock.h"
#include "core/base/printable.h"
#include "core/base/status_macros.h"
#include "core/optimize/options.h"
#include "core/search/pact.h"
#include "core/search/strategy.h"
#include "tests/support/arguments.h"
#include "tests/support/egraph/term_workspace.h"
#include "tests/support/program.h"

namespace quotient {
namespace {

constexpr char kUsage[] =
    R"(usage: rewrite_bench [OPTION]... FILE...

Makes each expression of the files (one a line) as small as it can, each by itself. Prints a line
per file, tab-separated: file, cost at the start, best cost, seconds, simulations, e-nodes; all but
the last, which is the most, summed up over the expressions.

  --domain math|prop  what the operators mean (math)
  --rules FILE        tests/data/rewriting/geb/DOMAIN-rules.txt if not said
  --strategy NAME     how the e-graph is grown (mcts)
  --budget TIME       for each expression: 1s, 500ms (1s)
  --nodes N           that an e-graph has at most (50000)
  --simulations N     at most, for each expression
  --workers N         threads (1)
  --seed N            of what is random (0)
  --each              a line per expression, too: FILE:LINE
  --terms             the best term behind its line, or each on a line of its own with --each
)";
constexpr Program kProgram = {"rewrite_bench", kUsage};

struct Options {
  std::string domain = "math";
  std::string rules;
  std::string strategy = "mcts";
  double budget_seconds = 1;
  std::optional<int64_t> nodes;
  std::optional<int64_t> simulations;
  std::optional<int64_t> workers;
  std::optional<int64_t> seed;
  bool each = false;
  bool terms = false;
  std::vector<std::string> files;
};

std::string DefaultRules(absl::string_view domain) {
  return absl::StrCat("tests/data/rewriting/geb/", domain, "-rules.txt");
}

// Strategies that look at nothing but the e-graph and the cost of a term.
std::vector<std::string> StrategiesForTerms() {
  std::vector<std::string> names = search::StrategyNames();
  std::erase(names, "pact-ilp");
  return names;
}

absl::StatusOr<Options> ParseOptions(std::span<const char* const> words) {
  Options options;
  const Flag budget = {"--budget", [&options](absl::string_view value) {
                         return optimize::ParseDuration(value, &options.budget_seconds);
                       }};
  const Flag flags[] = {
      WordFlag("--domain", {"math", "prop"}, options.domain),
      TextFlag("--rules", options.rules),
      WordFlag("--strategy", StrategiesForTerms(), options.strategy),
      budget,
      NumberFlag("--nodes", 1, options.nodes),
      NumberFlag("--simulations", 1, options.simulations),
      NumberFlag("--workers", 1, options.workers),
      NumberFlag("--seed", 0, options.seed),
      Switch("--each", options.each),
      Switch("--terms", options.terms),
  };
  QUOTIENT_RETURN_IF_ERROR(ParseArguments(words, flags, &options.files));
  if (options.files.empty()) return WrongArgument("FILE", "is missing");
  if (options.rules.empty()) options.rules = DefaultRules(options.domain);
  return options;
}

const search::Strategy& StrategyOf(const Options& options) {
  // As MCTS-GEB has it for terms.
  static const search::PactStrategy pact({.simulations_per_commit = 512, .exploration = 2});
  return options.strategy == "pact" ? pact : *search::FindStrategy(options.strategy);
}

search::Limits LimitsOf(const Options& options) {
  search::Limits limits;
  limits.max_matches_per_rule = 1'000;  // as egg's scheduler
  limits.max_enodes = options.nodes.value_or(limits.max_enodes);
  limits.max_simulations = options.simulations.value_or(limits.max_simulations);
  return limits;
}

struct Line {
  double start_cost = 0;
  double best_cost = 0;
  double seconds = 0;
  int64_t simulations = 0;
  int64_t enodes = 0;
  std::vector<std::string> terms;
};

void Print(const std::string& name, const Line& line, bool terms) {
  std::printf("%s\t%g\t%g\t%.3f\t%lld\t%lld", Printable(name).c_str(), line.start_cost,
              line.best_cost, line.seconds, static_cast<long long>(line.simulations),
              static_cast<long long>(line.enodes));
  for (size_t i = 0; terms && i < line.terms.size(); ++i)
    std::printf("\t%s", line.terms[i].c_str());
  std::printf("\n");
  std::fflush(stdout);
}

testing::Algebra AlgebraOf(const Options& options) {
  return options.domain == "math" ? testing::MathAlgebra() : testing::PropAlgebra();
}

absl::StatusOr<Line> Shrink(const Options& options, const std::string& rules,
                            const testing::Expression& expression) {
  const auto make = [&]() {
    return testing::TermWorkspace::Make(AlgebraOf(options), rules, options.rules, expression.text);
  };
  QUOTIENT_ASSIGN_OR_RETURN(const std::unique_ptr<testing::TermWorkspace> workspace, make());
  Line line;
  line.start_cost = workspace->Cost({});
  const int64_t start_ns = Clock::System().NowNs();
  search::Task task{.clock = Clock::System()};
  task.limits = LimitsOf(options);
  task.stop = StopCondition().WithBudget(Clock::System(), options.budget_seconds);
  task.seed = static_cast<uint64_t>(options.seed.value_or(0));
  task.workers = static_cast<int>(options.workers.value_or(1));
  task.make_workspace = make;
  QUOTIENT_ASSIGN_OR_RETURN(const search::Outcome outcome,
                            StrategyOf(options).Run(*workspace, task));
  workspace->OnGraphGrown();
  line.best_cost = workspace->Cost({});
  line.seconds = Clock::System().SecondsSince(start_ns);
  line.simulations = outcome.simulations;
  line.enodes = workspace->graph().num_enodes();
  if (options.terms) line.terms.push_back(workspace->BestTerm());
  return line;
}

absl::StatusOr<std::string> ReadRules(const Options& options) {
  absl::StatusOr<std::string> text = testing::ReadTextFile(options.rules);
  if (text.ok() || options.rules != DefaultRules(options.domain)) return text;
  return absl::NotFoundError(
      absl::StrCat(text.status().message(), "; not in the repository's root? --rules names one"));
}

absl::StatusOr<bool> Run(const Options& options) {
  testing::OperatorCheck operators(AlgebraOf(options).arities);
  QUOTIENT_ASSIGN_OR_RETURN(const std::string text, ReadRules(options));
  QUOTIENT_ASSIGN_OR_RETURN(const std::string rules,
                            testing::CheckedRules(text, options.rules, operators));
  for (const std::string& file : options.files) {
    QUOTIENT_ASSIGN_OR_RETURN(const std::string content, testing::ReadTextFile(file));
    QUOTIENT_ASSIGN_OR_RETURN(const std::vector<testing::Expression> expressions,
                              testing::CheckedExpressions(content, file, operators));
    Line sum;
    for (const testing::Expression& expression : expressions) {
      QUOTIENT_ASSIGN_OR_RETURN(Line line, Shrink(options, rules, expression));
      if (options.each) Print(expression.place, line, options.terms);
      sum.start_cost += line.start_cost;
      sum.best_cost += line.best_cost;
      sum.seconds += line.seconds;
      sum.simulations += line.simulations;
      sum.enodes = std::max(sum.enodes, line.enodes);
      std::ranges::move(line.terms, std::back_inserter(sum.terms));
    }
    Print(file, sum, options.terms && !options.each);
  }
  return true;
}

}  // namespace
}  // namespace quotient

int main(int argc, char** argv) {
  return quotient::RunProgram(quotient::kProgram, {argv + 1, static_cast<size_t>(argc - 1)},
                              quotient::ParseOptions, quotient::Run);
}
