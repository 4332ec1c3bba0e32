// Any bytes are an extraction problem or a refusal; what is a small problem can be extracted from
// by all extractors, or by none.

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <ctime>
#include <iostream>
#include <limits>
#include <string>

#include "absl/strings/str_cat.h"
#include "core/extract/extract.h"
#include "core/extract/several.h"
#include "tests/fuzz/understood.h"
#include "tests/support/egraph/gym_file.h"

namespace {

using namespace quotient;  // NOLINT: one file, one purpose

// Small, so that no input is slow by right.
constexpr size_t kMaxBytes = 1 << 14;
constexpr uint32_t kMaxENodes = 200;
constexpr double kSecondsPerExtraction = 0.1;
// An extraction that takes so much CPU time, even with sanitizers, does not ask whether it is to
// stop.
constexpr double kMostSecondsPerExtraction = 2;

void Check(bool condition, const absl::Status& status = absl::OkStatus()) {
  if (condition) return;
  std::cerr << status << "\n";
  std::abort();
}

// Costs are added in different orders.
bool AtMost(double a, double b) { return a <= b * (1 + 1e-9); }

// The best ones begin with the answer of the extractor, or a better one.
void ExtractSeveralAndCheck(const extract::Problem& problem, double cost) {
  const StopCondition stop = StopCondition().WithBudget(Clock::System(), kSecondsPerExtraction);
  const auto several = extract::ExtractSeveral(problem, *extract::FindExtractor("dag"), {}, stop);
  Check(several.ok() && !several->empty(), several.status());
  Check(AtMost(several->front().cost, cost));
  for (const extract::Selection& selection : *several) {
    const auto checked = extract::CheckSelection(problem, selection);
    Check(checked.ok() && AtMost(*checked, selection.cost), checked.status());
  }
}

// Every bound holds for every cost.
void ExtractAndCheck(const extract::Problem& problem) {
  size_t num_found = 0;
  double cheapest = std::numeric_limits<double>::infinity();
  double highest_bound = 0;
  for (const extract::Extractor* extractor : extract::AllExtractors()) {
    const StopCondition stop = StopCondition().WithBudget(Clock::System(), kSecondsPerExtraction);
    const std::clock_t start = std::clock();
    const auto selection = extractor->Extract(problem, stop);
    const double seconds = static_cast<double>(std::clock() - start) / CLOCKS_PER_SEC;
    Check(seconds < kMostSecondsPerExtraction,
          absl::DeadlineExceededError(absl::StrCat(extractor->name(), " took ", seconds, " s")));
    if (!selection.ok()) {
      Check(absl::IsNotFound(selection.status()), selection.status());
      continue;
    }
    const auto cost = extract::CheckSelection(problem, *selection);
    Check(cost.ok(), cost.status());
    Check(AtMost(*cost, selection->cost) && AtMost(selection->cost, *cost));
    cheapest = std::min(cheapest, *cost);
    highest_bound = std::max(highest_bound, selection->lower_bound);
    ++num_found;
    if (extractor->name() == std::string("dag")) ExtractSeveralAndCheck(problem, *cost);
  }
  Check(num_found == 0 || num_found == extract::AllExtractors().size());
  Check(AtMost(highest_bound, cheapest));
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  if (size > kMaxBytes) return 0;
  const auto parsed =
      testing::ParseGymText(absl::string_view(reinterpret_cast<const char*>(data), size));
  if (!parsed.ok()) {
    Check(absl::IsInvalidArgument(parsed.status()) && !parsed.status().message().empty(),
          parsed.status());
    return 0;
  }
  testing::NoteUnderstood();
  const extract::Problem problem = parsed->problem();
  if (problem.graph.enode_bound() <= kMaxENodes) ExtractAndCheck(problem);
  return 0;
}
