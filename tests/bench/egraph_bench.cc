// Equality saturation step by step: each step applies every rule to one frozen e-graph. A line per
// step, in the columns of the measurement of egglog on the same files, so that interleaved runs can
// be compared:
//
//   egraph_bench --domain math|prop --rules FILE --expressions FILE --steps N [--fold]
//
// --fold: constants fold, as the rules with guards need it; then e-node counts are not comparable
// with engines that do not fold.

#include <sys/resource.h>

#include <chrono>
#include <cstdio>
#include <fstream>
#include <iterator>
#include <span>
#include <string>
#include <vector>

#include "absl/strings/numbers.h"
#include "absl/strings/str_split.h"
#include "core/base/status_macros.h"
#include "core/egraph/egraph.h"
#include "core/egraph/matcher.h"
#include "core/egraph/pattern.h"
#include "tests/support/egraph/algebra_domain.h"

namespace quotient {
namespace {

using egraph::EGraph;
using egraph::Match;

struct Options {
  std::string domain = "math";
  std::string rules = "tests/data/rewriting/math/rules.txt";
  std::string expressions = "tests/data/rewriting/math/expressions.txt";
  int steps = 9;
  bool fold = false;
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
    if (flag == "--domain" && (value == "math" || value == "prop")) {
      options.domain = value;
    } else if (flag == "--rules") {
      options.rules = value;
    } else if (flag == "--expressions") {
      options.expressions = value;
    } else if (flag != "--steps" || !absl::SimpleAtoi(value, &options.steps)) {
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

absl::Status Run(const Options& options) {
  testing::AlgebraDomain domain(options.domain == "math" ? testing::MathAlgebra()
                                                         : testing::PropAlgebra());
  const egraph::Vocabulary vocabulary =
      options.fold ? domain.vocabulary() : testing::SymbolVocabulary(domain.table());
  QUOTIENT_ASSIGN_OR_RETURN(const std::string rule_text, ReadFile(options.rules));
  QUOTIENT_ASSIGN_OR_RETURN(const auto rules, egraph::CompileRules(rule_text, vocabulary));
  QUOTIENT_ASSIGN_OR_RETURN(const std::string expressions, ReadFile(options.expressions));
  EGraph graph(&domain.table(), options.fold ? &domain : nullptr);
  for (absl::string_view line : absl::StrSplit(expressions, '\n', absl::SkipWhitespace())) {
    QUOTIENT_RETURN_IF_ERROR(egraph::AddTerm(graph, line, vocabulary).status());
  }
  QUOTIENT_RETURN_IF_ERROR(graph.Rebuild());

  std::vector<const egraph::Rule*> pointers;
  for (const auto& rule : rules) pointers.push_back(rule.get());
  egraph::Matcher matcher(domain.table(), pointers);
  std::printf("step    e-nodes    seconds   ns/e-node   peak MB\n");
  const auto start = std::chrono::steady_clock::now();
  for (int step = 0; step <= options.steps; ++step) {
    if (step > 0) QUOTIENT_RETURN_IF_ERROR(Step(graph, pointers, matcher));
    const double seconds =
        std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
    const double nodes = static_cast<double>(graph.num_enodes());
    std::printf("%4d %10.0f %10.4f %11.1f %9.1f\n", step, nodes, seconds, seconds / nodes * 1e9,
                PeakMb());
    std::fflush(stdout);
  }
  return absl::OkStatus();
}

}  // namespace
}  // namespace quotient

int main(int argc, char** argv) {
  quotient::Options options;
  if (!quotient::ParseOptions(argc, argv, options)) {
    std::fprintf(
        stderr, "usage: %s --domain math|prop --rules FILE --expressions FILE --steps N [--fold]\n",
        argv[0]);
    return 2;
  }
  const absl::Status status = quotient::Run(options);
  if (!status.ok()) std::fprintf(stderr, "%s\n", status.ToString().c_str());
  return status.ok() ? 0 : 1;
}
