// Extractors on e-graphs of others, files of the extraction-gym form, compressed with gzip or not,
// and on those of ONNX models (FILE.onnx), saturated with all rules.
//
//   extract_bench FILE... [--extractor NAME] [--seconds S] [--repeat N] [--device D] [--nodes N]
//
//   --extractor NAME     only this one; all if not said
//   --seconds S          an extraction is asked to stop after so long, 60 if not said
//   --repeat N           milliseconds are the median of N extractions, 1 if not said
//   --device D           whose costs the e-nodes of models have, model:h200 if not said
//   --nodes N            at which the e-graphs of models stop growing, 50000 if not said
//
// A line per file and extractor: the cost of its answer, the bound that it proved, what part of the
// cost lies between them, and the wall clock time of the extraction alone. Every answer is checked;
// a wrong one is an error, as is a file that cannot be read: the rest is run, then the status is 1.

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <filesystem>
#include <span>
#include <string>
#include <vector>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "core/base/status_macros.h"
#include "core/extract/extract.h"
#include "tests/bench/model_problem.h"
#include "tests/support/egraph/gym_file.h"

namespace quotient {
namespace {

using extract::Extractor;
using extract::Selection;

struct Options {
  std::vector<std::string> files;
  const Extractor* extractor = nullptr;  // null: all
  double seconds = 60;
  int repeat = 1;
  std::string device = "model:h200";
  int64_t nodes = 50'000;
};

bool ParseFlag(const std::string& flag, const std::string& value, Options& options) {
  if (flag == "--extractor") {
    options.extractor = extract::FindExtractor(value);
    return options.extractor != nullptr;
  }
  if (flag == "--seconds") return absl::SimpleAtod(value, &options.seconds) && options.seconds > 0;
  if (flag == "--device") return !(options.device = value).empty();
  if (flag == "--nodes") return absl::SimpleAtoi(value, &options.nodes) && options.nodes > 0;
  if (flag == "--repeat") return absl::SimpleAtoi(value, &options.repeat) && options.repeat > 0;
  return false;
}

bool ParseOptions(int argc, char** argv, Options& options) {
  for (int i = 1; i < argc; ++i) {
    const std::string word = argv[i];
    if (!word.starts_with("--")) {
      options.files.push_back(word);
    } else if (i + 1 == argc || !ParseFlag(word, argv[++i], options)) {
      return false;
    }
  }
  return !options.files.empty();
}

void PrintUsage(const char* program) {
  std::string names;
  for (const Extractor* extractor : extract::AllExtractors()) {
    absl::StrAppend(&names, names.empty() ? "" : "|", extractor->name());
  }
  std::fprintf(stderr,
               "usage: %s FILE... [--extractor %s] [--seconds S] [--repeat N]\n"
               "       [--device model:NAME] [--nodes N]\n",
               program, names.c_str());
}

struct Measured {
  double cost;
  double lower_bound;
  double milliseconds;

  double gap_percent() const {
    return cost > lower_bound ? 100 * ((cost - lower_bound) / cost) : 0;
  }
};

// Costs are added in different orders.
bool Exceeds(double a, double b) { return a > b * (1 + 1e-9); }

absl::StatusOr<Measured> ExtractOnce(const extract::Problem& problem, const Extractor& extractor,
                                     double seconds) {
  using Milliseconds = std::chrono::duration<double, std::milli>;
  const StopCondition stop = StopCondition().WithBudget(Clock::System(), seconds);
  const auto start = std::chrono::steady_clock::now();
  QUOTIENT_ASSIGN_OR_RETURN(const Selection selection, extractor.Extract(problem, stop));
  const Milliseconds taken = std::chrono::steady_clock::now() - start;
  QUOTIENT_ASSIGN_OR_RETURN(const double cost, extract::CheckSelection(problem, selection));
  if (Exceeds(cost, selection.cost) || Exceeds(selection.cost, cost)) {
    return absl::InternalError(absl::StrCat("says ", selection.cost, ", costs ", cost));
  }
  if (Exceeds(selection.lower_bound, cost)) {
    return absl::InternalError(absl::StrCat("bound ", selection.lower_bound, ", costs ", cost));
  }
  return Measured{cost, selection.lower_bound, taken.count()};
}

// Of the last run, with the median of all times.
absl::StatusOr<Measured> Measure(const extract::Problem& problem, const Extractor& extractor,
                                 const Options& options) {
  Measured measured = {};
  std::vector<double> times;
  for (int i = 0; i < options.repeat; ++i) {
    QUOTIENT_ASSIGN_OR_RETURN(measured, ExtractOnce(problem, extractor, options.seconds));
    times.push_back(measured.milliseconds);
  }
  const auto median = times.begin() + times.size() / 2;
  std::nth_element(times.begin(), median, times.end());
  measured.milliseconds = *median;
  return measured;
}

bool RunExtractor(const std::string& name, const extract::Problem& problem,
                  const Extractor& extractor, const Options& options) {
  const absl::StatusOr<Measured> measured = Measure(problem, extractor, options);
  if (!measured.ok()) {
    std::fprintf(stderr, "%s %s: %s\n", name.c_str(), extractor.name(),
                 measured.status().ToString().c_str());
    return false;
  }
  std::printf("%-28s %-10s %12.8g %12.8g %7.2f %12.2f\n", name.c_str(), extractor.name(),
              measured->cost, measured->lower_bound, measured->gap_percent(),
              measured->milliseconds);
  std::fflush(stdout);
  return true;
}

bool RunProblem(const std::string& path, const extract::Problem& problem,
                std::span<const Extractor* const> extractors, const Options& options) {
  const std::string name = std::filesystem::path(path).filename();
  bool all_right = true;
  for (const Extractor* extractor : extractors) {
    all_right &= RunExtractor(name, problem, *extractor, options);
  }
  return all_right;
}

bool Unreadable(const absl::Status& status) {
  std::fprintf(stderr, "%s\n", status.ToString().c_str());
  return false;
}

bool RunFile(const std::string& path, std::span<const Extractor* const> extractors,
             const Options& options) {
  if (path.ends_with(".onnx")) {
    const auto model = ModelProblem::Make(path, options.device, options.nodes);
    if (!model.ok()) return Unreadable(model.status());
    return RunProblem(path, (*model)->problem(), extractors, options);
  }
  const auto file = testing::ReadGymFile(path);
  if (!file.ok()) return Unreadable(file.status());
  return RunProblem(path, file->problem(), extractors, options);
}

bool Run(const Options& options) {
  const std::span<const Extractor* const> extractors =
      options.extractor != nullptr ? std::span<const Extractor* const>(&options.extractor, 1)
                                   : extract::AllExtractors();
  std::printf("%-28s %-10s %12s %12s %7s %12s\n", "file", "extractor", "cost", "bound", "gap %",
              "ms");
  bool all_right = true;
  for (const std::string& path : options.files) all_right &= RunFile(path, extractors, options);
  return all_right;
}

}  // namespace
}  // namespace quotient

int main(int argc, char** argv) {
  quotient::Options options;
  if (!quotient::ParseOptions(argc, argv, options)) {
    quotient::PrintUsage(argv[0]);
    return 2;
  }
  return quotient::Run(options) ? 0 : 1;
}
