// Equality saturation of expressions over symbols, in two ways:
//
//   egraph_bench --rules FILE --expressions FILE --steps N
//       All expressions in one e-graph; each step applies every rule to one frozen e-graph. A line
//       per step, in the columns of the measurement of egglog on the same files, so that
//       interleaved runs can be compared.
//   egraph_bench --rules FILE --expressions FILE --schedule backoff --nodes N
//       Each expression (a line) by itself, with the scheduler of core/search until N e-nodes, then
//       the smallest tree is taken out. A line per expression.
//
// README.md says with which files. With --help it lists its options.

#include <sys/resource.h>

#include <chrono>
#include <cstdio>
#include <limits>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "core/base/status_macros.h"
#include "core/egraph/egraph.h"
#include "core/egraph/matcher.h"
#include "core/egraph/pattern.h"
#include "core/extract/extract.h"
#include "core/search/saturate.h"
#include "tests/support/arguments.h"
#include "tests/support/egraph/algebra_domain.h"
#include "tests/support/egraph/apply_all.h"
#include "tests/support/egraph/rewriting_files.h"
#include "tests/support/program.h"

namespace quotient {
namespace {

using egraph::ClassId;
using egraph::EGraph;
using egraph::ENodeId;
using egraph::Match;

constexpr char kUsage[] =
    R"(usage: egraph_bench [--rules FILE] [--expressions FILE] [--fold] [--domain math|prop]
                    ([--steps N] | --schedule backoff [--nodes N] [--matches N])

  --rules FILE         one rule a line; variables are ?x, or bare in a file without any '?': then a
                       leaf that begins with a lower-case letter is one, but for true and false
  --expressions FILE   one a line; empty lines and # comments are skipped
  --fold               constants fold, as the rules with guards need it; then e-node counts are not
                       comparable with engines that do not fold. Only the domain's operators
  --domain math|prop   what folds with --fold (math)
  --steps N            all expressions in one e-graph; each step applies all rules (9)
  --schedule backoff   each expression by itself, with the scheduler, then the smallest tree
  --nodes N            until so many e-nodes (10000)
  --matches N          of a rule per iteration, before it is banned (1000)
)";
constexpr Program kProgram = {"egraph_bench", kUsage};

struct Options {
  std::string domain = "math";
  std::string rules = "tests/data/rewriting/math/rules.txt";
  std::string expressions = "tests/data/rewriting/math/expressions.txt";
  std::string schedule;  // empty: by steps
  bool fold = false;
  std::optional<int64_t> steps;
  std::optional<int64_t> nodes;
  std::optional<int64_t> matches;

  bool backoff() const { return !schedule.empty(); }
};

absl::StatusOr<Options> ParseOptions(std::span<const char* const> words) {
  Options options;
  const Flag flags[] = {
      TextFlag("--rules", options.rules),
      TextFlag("--expressions", options.expressions),
      WordFlag("--domain", {"math", "prop"}, options.domain),
      NumberFlag("--steps", 0, options.steps),
      WordFlag("--schedule", {"backoff"}, options.schedule),
      NumberFlag("--nodes", 1, options.nodes),
      NumberFlag("--matches", 1, options.matches),
      Switch("--fold", options.fold),
  };
  QUOTIENT_RETURN_IF_ERROR(ParseArguments(words, flags, nullptr));
  if (options.backoff() && options.steps) {
    return WrongArgument("--steps", "not with --schedule, which goes on until there are --nodes");
  }
  if (!options.backoff() && (options.nodes || options.matches)) {
    return WrongArgument(options.nodes ? "--nodes" : "--matches", "only with --schedule backoff");
  }
  return options;
}

double PeakMb() {
  struct rusage usage;
  getrusage(RUSAGE_SELF, &usage);
  return static_cast<double>(usage.ru_maxrss) / 1024;
}

class Stopwatch {
 public:
  double seconds() const {
    return std::chrono::duration<double>(std::chrono::steady_clock::now() - start_).count();
  }

 private:
  const std::chrono::steady_clock::time_point start_ = std::chrono::steady_clock::now();
};

testing::Algebra AlgebraOf(const Options& options) {
  return options.domain == "math" ? testing::MathAlgebra() : testing::PropAlgebra();
}

// What the files say.
struct Input {
  std::string rules;
  std::vector<testing::Expression> expressions;
};

absl::StatusOr<Input> ReadInput(const Options& options) {
  Input input;
  testing::OperatorCheck operators(options.fold ? std::optional(AlgebraOf(options).arities)
                                                : std::nullopt);
  QUOTIENT_ASSIGN_OR_RETURN(const std::string rules, testing::ReadTextFile(options.rules));
  QUOTIENT_ASSIGN_OR_RETURN(input.rules, testing::CheckedRules(rules, options.rules, operators));
  QUOTIENT_ASSIGN_OR_RETURN(const std::string text, testing::ReadTextFile(options.expressions));
  QUOTIENT_ASSIGN_OR_RETURN(input.expressions,
                            testing::CheckedExpressions(text, options.expressions, operators));
  return input;
}

// An empty e-graph and its rules.
class Workload {
 public:
  explicit Workload(const Options& options)
      : options_(options),
        domain_(AlgebraOf(options)),
        vocabulary_(options.fold ? domain_.vocabulary()
                                 : testing::SymbolVocabulary(domain_.table())),
        graph_(&domain_.table(), options.fold ? &domain_ : nullptr) {}

  absl::Status Use(absl::string_view rules) {
    auto compiled = egraph::CompileRules(rules, vocabulary_, options_.rules);
    if (!compiled.ok()) {
      const absl::string_view message = compiled.status().message();
      const bool guard = absl::StrContains(message, "unknown guard") && !options_.fold;
      return absl::InvalidArgumentError(
          absl::StrCat(message, guard ? "; the domains' guards need --fold" : ""));
    }
    rules_ = *std::move(compiled);
    for (const auto& rule : rules_) pointers_.push_back(rule.get());
    return absl::OkStatus();
  }
  absl::StatusOr<ClassId> Add(const testing::Expression& expression) {
    absl::StatusOr<ClassId> added = egraph::AddTerm(graph_, expression.text, vocabulary_);
    if (added.ok()) return added;
    return absl::InvalidArgumentError(
        absl::StrCat(expression.place, ": ", added.status().message()));
  }

  const egraph::OpTable& table() { return domain_.table(); }
  EGraph& graph() { return graph_; }
  std::span<const egraph::Rule* const> rules() const { return pointers_; }

 private:
  const Options& options_;
  testing::AlgebraDomain domain_;
  const egraph::Vocabulary vocabulary_;
  EGraph graph_;
  std::vector<std::unique_ptr<egraph::Rule>> rules_;
  std::vector<const egraph::Rule*> pointers_;
};

class AllMatches : public egraph::MatchSink {
 public:
  bool Add(Match match) override {
    matches.push_back(std::move(match));
    return true;
  }
  std::vector<Match> matches;
};

// Rules that the matcher does not take are searched from scratch.
absl::Status Step(EGraph& graph, std::span<const egraph::Rule* const> rules,
                  egraph::Matcher& matcher) {
  std::vector<AllMatches> found(rules.size());
  for (size_t i = 0; i < rules.size(); ++i) {
    if (!matcher.takes(i)) rules[i]->Search(graph, found[i]);
  }
  matcher.Search(graph);
  QUOTIENT_RETURN_IF_ERROR(testing::ApplyAll(matcher, rules.size(), graph));
  for (size_t i = 0; i < rules.size(); ++i) {
    for (const Match& match : found[i].matches) {
      QUOTIENT_RETURN_IF_ERROR(
          rules[i]->Apply(graph, match, static_cast<egraph::Origin>(i + 1)).status());
    }
  }
  return graph.Rebuild();
}

absl::Status RunSteps(const Options& options, const Input& input) {
  Workload workload(options);
  QUOTIENT_RETURN_IF_ERROR(workload.Use(input.rules));
  for (const testing::Expression& expression : input.expressions) {
    QUOTIENT_RETURN_IF_ERROR(workload.Add(expression).status());
  }
  EGraph& graph = workload.graph();
  QUOTIENT_RETURN_IF_ERROR(graph.Rebuild());
  egraph::Matcher matcher(workload.table(), workload.rules());
  std::printf("step    e-nodes    seconds   ns/e-node   peak MB\n");
  const Stopwatch watch;
  for (int64_t step = 0; step <= options.steps.value_or(9); ++step) {
    if (step > 0) QUOTIENT_RETURN_IF_ERROR(Step(graph, workload.rules(), matcher));
    const double seconds = watch.seconds();
    const double nodes = static_cast<double>(graph.num_enodes());
    std::printf("%4lld %10.0f %10.4f %11.1f %9.1f\n", static_cast<long long>(step), nodes, seconds,
                seconds / nodes * 1e9, PeakMb());
    std::fflush(stdout);
  }
  return absl::OkStatus();
}

class TreeSize : public extract::CostFunction {
 public:
  double Cost(ENodeId) const override { return 1; }
};

// The size of the tree that the selection makes of the class: what is used twice counts twice.
double TreeCost(const EGraph& graph, const extract::Selection& selection, ClassId id,
                std::vector<double>& known) {
  double& cost = known[graph.Find(id).value()];
  if (cost == 0) {
    cost = 1;
    for (ClassId child : graph.node(selection.of(graph.Find(id))).children) {
      cost += TreeCost(graph, selection, child, known);
    }
  }
  return cost;
}

absl::Status RunScheduled(const Options& options, const Input& input) {
  search::Limits limits;
  limits.max_enodes = options.nodes.value_or(10'000);
  limits.max_iterations = std::numeric_limits<int64_t>::max();
  limits.max_matches_per_rule = options.matches.value_or(1'000);  // as egg's scheduler
  std::printf("expression    e-nodes iterations    seconds  extraction   peak MB   size\n");
  double total = 0;
  for (size_t i = 0; i < input.expressions.size(); ++i) {
    Workload workload(options);
    QUOTIENT_RETURN_IF_ERROR(workload.Use(input.rules));
    EGraph& graph = workload.graph();
    const Stopwatch watch;
    QUOTIENT_ASSIGN_OR_RETURN(const ClassId root, workload.Add(input.expressions[i]));
    search::Rewriter rewriter(&graph, workload.rules());
    QUOTIENT_ASSIGN_OR_RETURN(const search::Outcome outcome,
                              search::Saturate(rewriter, limits, {}, {}));
    const double saturated = watch.seconds();
    const TreeSize cost;
    const ClassId roots[] = {graph.Find(root)};
    QUOTIENT_ASSIGN_OR_RETURN(const extract::Selection selection,
                              extract::FindExtractor("tree")->Extract({graph, cost, roots}, {}));
    const double extracted = watch.seconds();
    std::vector<double> known(graph.class_bound(), 0);
    const double size = TreeCost(graph, selection, root, known);
    total += size;
    std::printf("%10zu %10lld %10lld %10.4f %11.4f %9.1f %6.0f\n", i,
                static_cast<long long>(graph.num_enodes()),
                static_cast<long long>(outcome.iterations), saturated, extracted - saturated,
                PeakMb(), size);
    std::fflush(stdout);
  }
  std::printf("sum of sizes %.0f\n", total);
  return absl::OkStatus();
}

absl::StatusOr<bool> Run(const Options& options) {
  QUOTIENT_ASSIGN_OR_RETURN(const Input input, ReadInput(options));
  QUOTIENT_RETURN_IF_ERROR(options.backoff() ? RunScheduled(options, input)
                                             : RunSteps(options, input));
  return true;
}

}  // namespace
}  // namespace quotient

int main(int argc, char** argv) {
  return quotient::RunProgram(quotient::kProgram, {argv + 1, static_cast<size_t>(argc - 1)},
                              quotient::ParseOptions, quotient::Run);
}
