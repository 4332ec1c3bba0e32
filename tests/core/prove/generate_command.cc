#include "tests/core/prove/generate_command.h"

#include <cstdio>
#include <memory>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "core/base/clock.h"
#include "core/base/status_macros.h"
#include "core/cost/cost_model.h"
#include "core/generate/generator.h"
#include "core/generate/taso.h"
#include "core/prove/certificate.h"

namespace quotient::prove {
namespace {

using generate::Counts;
using generate::Found;
using generate::Universe;

constexpr char kRow[] = "%-20s %9s %9s %9s %8s %8s %8s %7s %7s %6s %6s %7s %7s %7s\n";

void PrintHead() {
  std::printf(kRow, "operators", "terms", "values", "equal", "renamed", "not ours", "new", "proved",
              "kept", "taso", "pay", "enum s", "derive", "prove");
}

void PrintRow(const std::string& name, const Counts& counts, int taso, int pay) {
  const auto seconds = [](double number) {
    return absl::StrCat(static_cast<int64_t>(number + 0.5));
  };
  std::printf(kRow, name.c_str(), absl::StrCat(counts.terms).c_str(),
              absl::StrCat(counts.values).c_str(), absl::StrCat(counts.equations).c_str(),
              absl::StrCat(counts.renamed).c_str(), absl::StrCat(counts.underived).c_str(),
              absl::StrCat(counts.independent).c_str(), absl::StrCat(counts.proved).c_str(),
              absl::StrCat(counts.kept).c_str(), absl::StrCat(taso).c_str(),
              absl::StrCat(pay).c_str(), seconds(counts.seconds_enumerating).c_str(),
              seconds(counts.seconds_deriving).c_str(), seconds(counts.seconds_proving).c_str());
}

// Says on standard error how far the generator is: once for each step, and every second.
class ProgressLines {
 public:
  void Tell(const std::string& universe, const generate::Progress& progress) {
    const std::string step =
        absl::StrCat(universe, ": ", NameOf(progress.phase), " (", progress.size, " operators)");
    if (step == told_step_ && clock_.SecondsSince(told_ns_) < 1) return;
    told_step_ = step;
    told_ns_ = clock_.NowNs();
    const bool has_candidates = progress.phase != generate::Progress::Phase::kEnumerating;
    const std::string candidates = has_candidates ? absl::StrCat(", ", progress.done, " of ",
                                                                 progress.candidates, " candidates")
                                                  : "";
    std::fprintf(stderr, "%s: %lld graphs%s, %lld found, %.0f s\n", step.c_str(),
                 static_cast<long long>(progress.graphs), candidates.c_str(),
                 static_cast<long long>(progress.found), clock_.SecondsSince(start_ns_));
  }

 private:
  const Clock& clock_ = Clock::System();
  const int64_t start_ns_ = clock_.NowNs();
  int64_t told_ns_ = 0;
  std::string told_step_;  // Of the last line.
};

std::string CommentOf(const Found& found, bool has_device) {
  std::string comment = NameOf(found.proof.certificate.tier);
  if (!found.proof.certificate.functions.empty()) {
    absl::StrAppend(&comment, " (", absl::StrJoin(found.proof.certificate.functions, " "), ")");
  }
  absl::StrAppend(&comment, ", ", found.proof.certificate.instances, " graphs");
  if (found.proof.certificate.largest_error == 0) absl::StrAppend(&comment, ", the same floats");
  if (!found.proof.holds_for_infinities)
    absl::StrAppend(&comment, "; not where values are infinite");
  if (found.in_taso) absl::StrAppend(&comment, "; in TASO");
  if (found.pays()) {
    absl::StrAppend(&comment, "; pays: ", has_device ? "us " : "work ",
                    static_cast<int64_t>(found.price_before), " -> ",
                    static_cast<int64_t>(found.price_after));
  }
  return comment;
}

absl::Status PrintCoverage(const std::vector<std::string>& known) {
  for (const char* name : {"taso-rules-matrices", "taso-rules-images"}) {
    std::fprintf(stderr, "%s: deriving the rules of TASO\n", name);
    QUOTIENT_ASSIGN_OR_RETURN(const std::vector<Universe> universes,
                              generate::UniversesNamed(name));
    QUOTIENT_ASSIGN_OR_RETURN(const generate::Coverage coverage,
                              generate::CoverageOfTaso(universes[0], known));
    std::printf(
        "# %s: of %d sound rules of TASO, %d follow from the present rules, %zu do not follow "
        "from these and those found: %s\n",
        name, coverage.num_rules, coverage.num_present, coverage.missing.size(),
        absl::StrJoin(coverage.missing, "; ").c_str());
  }
  return absl::OkStatus();
}

}  // namespace

absl::StatusOr<bool> RunGenerate(const GenerateOptions& options) {
  generate::Options generation;
  generation.size = options.size;
  generation.seed = options.seed;
  generation.instances = options.instances;
  generation.without = options.without;
  std::unique_ptr<cost::CostModel> model;
  if (!options.device.empty()) {
    QUOTIENT_ASSIGN_OR_RETURN(model, cost::NewAnalyticCostModel(options.device));
    generation.price = [&model](const model::Graph& graph) -> absl::StatusOr<double> {
      QUOTIENT_ASSIGN_OR_RETURN(const cost::GraphCost cost, cost::PredictGraph(graph, *model, {}));
      return cost.total_us;
    };
  }
  ProgressLines lines;
  std::vector<std::string> known;
  Counts sum;
  int sum_taso = 0;
  int sum_pay = 0;
  std::vector<std::pair<std::string, generate::Outcome>> outcomes;
  for (const std::string& word : options.operators) {
    QUOTIENT_ASSIGN_OR_RETURN(const std::vector<Universe> universes,
                              generate::UniversesNamed(word));
    for (const Universe& universe : universes) {
      generation.progress = [&](const generate::Progress& progress) {
        lines.Tell(universe.name, progress);
      };
      QUOTIENT_ASSIGN_OR_RETURN(generate::Outcome outcome,
                                generate::Generate(universe, generation, known));
      std::printf("\n# --- %s\n", universe.name.c_str());
      for (const Found& found : outcome.found) {
        std::printf("# %s\n%s\n", CommentOf(found, model != nullptr).c_str(),
                    found.proof.rule.c_str());
      }
      for (const std::string& equation : outcome.refuted) {
        std::printf("# refuted: %s\n", equation.c_str());
      }
      std::fflush(stdout);
      outcomes.emplace_back(universe.name, std::move(outcome));
    }
  }
  std::printf("\n");
  PrintHead();
  for (const auto& [name, outcome] : outcomes) {
    int taso = 0;
    int pay = 0;
    for (const Found& found : outcome.found) {
      taso += found.in_taso ? 1 : 0;
      pay += found.pays() ? 1 : 0;
    }
    PrintRow(name, outcome.counts, taso, pay);
    sum.Add(outcome.counts);
    sum_taso += taso;
    sum_pay += pay;
  }
  PrintRow("all", sum, sum_taso, sum_pay);
  std::fflush(stdout);
  QUOTIENT_RETURN_IF_ERROR(PrintCoverage(known));
  return true;
}

}  // namespace quotient::prove
