// Extractors on e-graphs of others, files of the extraction-gym form, compressed with gzip or not,
// and on those of ONNX models, saturated with all rules. With --help it lists its options.
//
// A line per file and extractor: the cost of its answer, the bound that it proved, what part of the
// cost lies between them, and the wall clock time of the extraction alone. Every answer is checked;
// a wrong one is an error, as is a file that cannot be read: the rest is run, then the status is 1.

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <iterator>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "core/base/log.h"
#include "core/base/status_macros.h"
#include "core/cost/cost_model.h"
#include "core/extract/extract.h"
#include "core/extract/instance.h"
#include "core/extract/several.h"
#include "core/os/files.h"
#include "tests/bench/model_problem.h"
#include "tests/support/arguments.h"
#include "tests/support/egraph/gym_file.h"
#include "tests/support/program.h"

namespace quotient {
namespace {

using extract::Extractor;
using extract::Selection;

constexpr char kUsage[] =
    R"(usage: extract_bench FILE... [--extractor NAME] [--seconds S] [--repeat N] [--several K]
                     [--device NAME] [--nodes N]

  FILE                 of the extraction-gym form, compressed with gzip or not; or a model, .onnx
  --extractor NAME     tree, history, dag, ilp or exact; all if not said
  --seconds S          an extraction is asked to stop after so long (60)
  --repeat N           milliseconds are the median of N extractions (1)
  --several K          the K best different selections by the extractor, a line for each; the time
                       is that of all
  --device NAME        whose costs the e-nodes of models have (model:h200)
  --nodes N            at which the e-graphs of models stop growing (50000)

The gap is in percent of the cost. "proven": the bound is the cost but for a relative 1e-6.
)";
constexpr Program kProgram = {"extract_bench", kUsage};

struct Options {
  std::vector<std::string> files;
  std::string extractor;  // empty: all
  double seconds = 60;
  std::optional<int64_t> repeat;
  std::optional<int64_t> several;
  std::string device;
  std::optional<int64_t> nodes;
};

bool IsModel(const std::string& path) { return absl::EndsWithIgnoreCase(path, ".onnx"); }

std::vector<std::string> ExtractorNames() {
  std::vector<std::string> names;
  for (const Extractor* extractor : extract::AllExtractors()) names.push_back(extractor->name());
  return names;
}

Flag SecondsFlag(double& place) {
  return {"--seconds", [&place](absl::string_view value) {
            double seconds;
            if (!absl::SimpleAtod(value, &seconds) || !(seconds > 0)) {
              return WrongArgument("--seconds",
                                   absl::StrCat("wants a number above 0, not ", value));
            }
            place = seconds;
            return absl::OkStatus();
          }};
}

absl::StatusOr<Options> ParseOptions(std::span<const char* const> words) {
  Options options;
  const Flag flags[] = {
      WordFlag("--extractor", ExtractorNames(), options.extractor),
      SecondsFlag(options.seconds),
      NumberFlag("--repeat", 1, options.repeat),
      NumberFlag("--several", 1, options.several),
      WordFlag("--device", cost::AnalyticDevices(), options.device),
      NumberFlag("--nodes", 1, options.nodes),
  };
  QUOTIENT_RETURN_IF_ERROR(ParseArguments(words, flags, &options.files));
  if (options.files.empty()) return WrongArgument("FILE", "is missing");
  if (std::ranges::none_of(options.files, IsModel) && !options.device.empty()) {
    return WrongArgument("--device", "only for models, FILE.onnx");
  }
  if (std::ranges::none_of(options.files, IsModel) && options.nodes) {
    return WrongArgument("--nodes", "only for models, FILE.onnx");
  }
  return options;
}

struct Measured {
  double cost;
  double lower_bound;

  std::string gap_percent() const {
    constexpr double kProven = 1e-6;
    const double gap = (cost - lower_bound) / cost;
    if (cost <= lower_bound || gap <= kProven) return "proven";
    return absl::StrFormat(gap < 0.01 ? "%.2g" : "%.1f", 100 * gap);
  }
};
struct Extraction {
  std::vector<Measured> answers;  // one, or several
  double milliseconds;
};

// Costs are added in different orders.
bool Exceeds(double a, double b) { return a > b * (1 + 1e-9); }

absl::StatusOr<Measured> Check(const extract::Problem& problem, const Selection& selection) {
  QUOTIENT_ASSIGN_OR_RETURN(const double cost, extract::CheckSelection(problem, selection));
  if (Exceeds(cost, selection.cost) || Exceeds(selection.cost, cost)) {
    return absl::InternalError(absl::StrCat("says ", selection.cost, ", costs ", cost));
  }
  if (Exceeds(selection.lower_bound, cost)) {
    return absl::InternalError(absl::StrCat("bound ", selection.lower_bound, ", costs ", cost));
  }
  return Measured{cost, selection.lower_bound};
}

absl::StatusOr<std::vector<Selection>> Extract(const extract::Problem& problem,
                                               const Extractor& extractor, const Options& options) {
  const StopCondition stop = StopCondition().WithBudget(Clock::System(), options.seconds);
  if (options.several) {
    const extract::SeveralOptions several = {.count = static_cast<size_t>(*options.several)};
    return extract::ExtractSeveral(problem, extractor, several, stop);
  }
  QUOTIENT_ASSIGN_OR_RETURN(Selection selection, extractor.Extract(problem, stop));
  return std::vector{std::move(selection)};
}

absl::StatusOr<Extraction> RunOnce(const extract::Problem& problem, const Extractor& extractor,
                                   const Options& options) {
  using Milliseconds = std::chrono::duration<double, std::milli>;
  const auto start = std::chrono::steady_clock::now();
  QUOTIENT_ASSIGN_OR_RETURN(const std::vector<Selection> selections,
                            Extract(problem, extractor, options));
  Extraction run = {{}, Milliseconds(std::chrono::steady_clock::now() - start).count()};
  for (const Selection& selection : selections) {
    QUOTIENT_ASSIGN_OR_RETURN(const Measured measured, Check(problem, selection));
    run.answers.push_back(measured);
  }
  return run;
}

// The last run, with the median of all times.
absl::StatusOr<Extraction> Measure(const extract::Problem& problem, const Extractor& extractor,
                                   const Options& options) {
  Extraction run = {};
  std::vector<double> times;
  for (int64_t i = 0; i < options.repeat.value_or(1); ++i) {
    QUOTIENT_ASSIGN_OR_RETURN(run, RunOnce(problem, extractor, options));
    times.push_back(run.milliseconds);
  }
  const auto median = times.begin() + static_cast<std::ptrdiff_t>(times.size() / 2);
  std::nth_element(times.begin(), median, times.end());
  run.milliseconds = *median;
  return run;
}

bool RunExtractor(const std::string& path, const extract::Problem& problem,
                  const Extractor& extractor, const Options& options) {
  const absl::StatusOr<Extraction> run = Measure(problem, extractor, options);
  if (!run.ok()) {
    return Complain(kProgram,
                    absl::StrCat(path, ": ", extractor.name(), ": ", run.status().message()));
  }
  const std::string name = Escaped(os::BaseName(path));
  for (const Measured& answer : run->answers) {
    std::printf("%-28s %-10s %12.8g %12.8g %8s %12.2f\n", name.c_str(), extractor.name(),
                answer.cost, answer.lower_bound, answer.gap_percent().c_str(), run->milliseconds);
  }
  std::fflush(stdout);
  const int64_t wanted = options.several.value_or(1);
  if (std::ssize(run->answers) < wanted) {
    Complain(kProgram, absl::StrCat(path, ": ", extractor.name(), ": note: ", run->answers.size(),
                                    " found, not ", wanted, ": no more there, or time was up"));
  }
  return true;
}

// Which root makes it that there is no selection; what the file calls it.
std::string RootWithoutSelection(const extract::Problem& problem,
                                 std::span<const std::string> names) {
  for (size_t i = 0; i < problem.roots.size(); ++i) {
    if (extract::MakeInstance({problem.graph, problem.cost, problem.roots.subspan(i, 1)}).ok()) {
      continue;
    }
    return i < names.size() ? absl::StrCat("root class \"", names[i], "\"")
                            : absl::StrCat("root ", i);
  }
  return "the roots";
}

// `roots`: names, if they have any.
bool RunProblem(const std::string& path, const extract::Problem& problem,
                std::span<const std::string> roots, const Options& options) {
  if (absl::IsNotFound(extract::MakeInstance(problem).status())) {
    return Complain(kProgram, absl::StrCat(path, ": ", RootWithoutSelection(problem, roots),
                                           " has no finite, acyclic selection"));
  }
  bool all_right = true;
  for (const Extractor* extractor : extract::AllExtractors()) {
    if (!options.extractor.empty() && options.extractor != extractor->name()) continue;
    all_right &= RunExtractor(path, problem, *extractor, options);
  }
  return all_right;
}

bool RunFile(const std::string& path, const Options& options) {
  if (IsModel(path)) {
    const auto model =
        ModelProblem::Make(path, options.device.empty() ? "model:h200" : options.device,
                           options.nodes.value_or(50'000));
    if (!model.ok()) return Complain(kProgram, absl::StrCat(path, ": ", model.status().message()));
    return RunProblem(path, (*model)->problem(), {}, options);
  }
  const auto file = testing::ReadGymFile(path);
  if (!file.ok()) return Complain(kProgram, file.status().message());
  return RunProblem(path, file->problem(), file->roots, options);
}

absl::StatusOr<bool> Run(const Options& options) {
  std::printf("%-28s %-10s %12s %12s %8s %12s\n", "file", "extractor", "cost", "bound", "gap %",
              "ms");
  std::fflush(stdout);
  bool all_right = true;
  for (const std::string& path : options.files) all_right &= RunFile(path, options);
  return all_right;
}

}  // namespace
}  // namespace quotient

int main(int argc, char** argv) {
  return quotient::RunProgram(quotient::kProgram, {argv + 1, static_cast<size_t>(argc - 1)},
                              quotient::ParseOptions, quotient::Run);
}
