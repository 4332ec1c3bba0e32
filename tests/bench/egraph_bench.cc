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
//   --domain math|prop   what folds with --fold, "math" if not said
//   --fold               constants fold, as the rules with guards need it; then e-node counts are
//                        not comparable with engines that do not fold
//   --matches N          backoff: matches of a rule per iteration before it is banned

#include <sys/resource.h>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <fstream>
#include <iterator>
#include <limits>
#include <span>
#include <string>
#include <vector>

#include "absl/strings/numbers.h"
#include "absl/strings/str_split.h"
#include "core/base/status_macros.h"
#include "core/egraph/egraph.h"
#include "core/egraph/matcher.h"
#include "core/egraph/pattern.h"
#include "core/extract/extract.h"
#include "core/search/strategy.h"
#include "tests/support/egraph/algebra_domain.h"

namespace quotient {
namespace {

using egraph::ClassId;
using egraph::EGraph;
using egraph::ENodeId;
using egraph::Match;

struct Options {
  std::string domain = "math";
  std::string rules = "tests/data/rewriting/math/rules.txt";
  std::string expressions = "tests/data/rewriting/math/expressions.txt";
  int steps = 9;
  bool fold = false;
  bool backoff = false;
  int64_t nodes = 10'000;
  int64_t matches = 1'000;  // as egg's scheduler
};

bool ParseOptions(int argc, char** argv, Options& options) {
  for (int i = 1; i < argc; ++i) {
    const std::string flag = argv[i];
    if (flag == "--fold") {
      options.fold = true;
      continue;
    }
    if (i + 1 == argc) return false;
    const std::string value = argv[++i];
    const auto number = [&](const char* name, auto& place) {
      return flag == name && absl::SimpleAtoi(value, &place);
    };
    if (flag == "--domain" && (value == "math" || value == "prop")) {
      options.domain = value;
    } else if (flag == "--rules") {
      options.rules = value;
    } else if (flag == "--expressions") {
      options.expressions = value;
    } else if (flag == "--schedule" && value == "backoff") {
      options.backoff = true;
    } else if (!number("--steps", options.steps) && !number("--nodes", options.nodes) &&
               !number("--matches", options.matches)) {
      return false;
    }
  }
  return true;
}

absl::StatusOr<std::string> ReadFile(const std::string& path) {
  std::ifstream file(path);
  if (!file) return absl::NotFoundError(path);
  return std::string(std::istreambuf_iterator<char>(file), {});
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

// An empty e-graph and its rules.
class Workload {
 public:
  explicit Workload(const Options& options)
      : domain_(options.domain == "math" ? testing::MathAlgebra() : testing::PropAlgebra()),
        vocabulary_(options.fold ? domain_.vocabulary()
                                 : testing::SymbolVocabulary(domain_.table())),
        graph_(&domain_.table(), options.fold ? &domain_ : nullptr) {}

  absl::Status Use(absl::string_view rules) {
    QUOTIENT_ASSIGN_OR_RETURN(rules_, egraph::CompileRules(rules, vocabulary_));
    for (const auto& rule : rules_) pointers_.push_back(rule.get());
    return absl::OkStatus();
  }
  absl::StatusOr<ClassId> Add(absl::string_view expression) {
    return egraph::AddTerm(graph_, expression, vocabulary_);
  }

  const egraph::OpTable& table() { return domain_.table(); }
  EGraph& graph() { return graph_; }
  std::span<const egraph::Rule* const> rules() const { return pointers_; }

 private:
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
  QUOTIENT_RETURN_IF_ERROR(matcher.ApplyAll(graph, [] { return true; }));
  for (size_t i = 0; i < rules.size(); ++i) {
    for (const Match& match : found[i].matches) {
      QUOTIENT_RETURN_IF_ERROR(
          rules[i]->Apply(graph, match, static_cast<egraph::Origin>(i + 1)).status());
    }
  }
  return graph.Rebuild();
}

absl::Status RunSteps(const Options& options, absl::string_view rules,
                      const std::vector<std::string>& expressions) {
  Workload workload(options);
  QUOTIENT_RETURN_IF_ERROR(workload.Use(rules));
  for (const std::string& line : expressions) {
    QUOTIENT_RETURN_IF_ERROR(workload.Add(line).status());
  }
  EGraph& graph = workload.graph();
  QUOTIENT_RETURN_IF_ERROR(graph.Rebuild());
  egraph::Matcher matcher(workload.table(), workload.rules());
  std::printf("step    e-nodes    seconds   ns/e-node   peak MB\n");
  const Stopwatch watch;
  for (int step = 0; step <= options.steps; ++step) {
    if (step > 0) QUOTIENT_RETURN_IF_ERROR(Step(graph, workload.rules(), matcher));
    const double seconds = watch.seconds();
    const double nodes = static_cast<double>(graph.num_enodes());
    std::printf("%4d %10.0f %10.4f %11.1f %9.1f\n", step, nodes, seconds, seconds / nodes * 1e9,
                PeakMb());
    std::fflush(stdout);
  }
  return absl::OkStatus();
}

class TreeSize : public extract::CostFunction {
 public:
  double Cost(ENodeId) const override { return 1; }
};

// Of what the selection takes for the class, every use counted.
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

absl::Status RunScheduled(const Options& options, absl::string_view rules,
                          const std::vector<std::string>& expressions) {
  search::Limits limits;
  limits.max_enodes = options.nodes;
  limits.max_iterations = std::numeric_limits<int64_t>::max();
  limits.max_matches_per_rule = options.matches;
  std::printf("expression    e-nodes iterations    seconds  extraction   peak MB   size\n");
  double total = 0;
  for (size_t i = 0; i < expressions.size(); ++i) {
    Workload workload(options);
    QUOTIENT_RETURN_IF_ERROR(workload.Use(rules));
    EGraph& graph = workload.graph();
    const Stopwatch watch;
    QUOTIENT_ASSIGN_OR_RETURN(const ClassId root, workload.Add(expressions[i]));
    QUOTIENT_ASSIGN_OR_RETURN(
        const search::Outcome outcome,
        search::FindStrategy("saturate")->Run(graph, workload.rules(), limits, {}, {}));
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

absl::Status Run(const Options& options) {
  QUOTIENT_ASSIGN_OR_RETURN(const std::string rules, ReadFile(options.rules));
  QUOTIENT_ASSIGN_OR_RETURN(const std::string text, ReadFile(options.expressions));
  const std::vector<std::string> expressions = absl::StrSplit(text, '\n', absl::SkipWhitespace());
  return options.backoff ? RunScheduled(options, rules, expressions)
                         : RunSteps(options, rules, expressions);
}

}  // namespace
}  // namespace quotient

int main(int argc, char** argv) {
  quotient::Options options;
  if (!quotient::ParseOptions(argc, argv, options)) {
    std::fprintf(stderr,
                 "usage: %s [--domain math|prop] --rules FILE --expressions FILE [--fold]\n"
                 "       (--steps N | --schedule backoff --nodes N [--matches N])\n",
                 argv[0]);
    return 2;
  }
  const absl::Status status = quotient::Run(options);
  if (!status.ok()) std::fprintf(stderr, "%s\n", status.ToString().c_str());
  return status.ok() ? 0 : 1;
}
