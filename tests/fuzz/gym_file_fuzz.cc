// Any bytes are an extraction problem or a refusal; what is a small problem can be extracted from
// by all extractors, or by none.

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <iostream>
#include <limits>

#include "core/extract/extract.h"
#include "tests/support/egraph/gym_file.h"

namespace {

using namespace quotient;  // NOLINT: one file, one purpose

// Small, so that no input is slow by right.
constexpr size_t kMaxBytes = 1 << 14;
constexpr uint32_t kMaxENodes = 200;
constexpr double kSecondsPerExtraction = 0.01;

void Check(bool condition, const absl::Status& status = absl::OkStatus()) {
  if (condition) return;
  std::cerr << status << "\n";
  std::abort();
}

// Costs are added in different orders.
bool AtMost(double a, double b) { return a <= b * (1 + 1e-9); }

// Every bound holds for every cost.
void ExtractAndCheck(const extract::Problem& problem) {
  size_t num_found = 0;
  double cheapest = std::numeric_limits<double>::infinity();
  double highest_bound = 0;
  for (const extract::Extractor* extractor : extract::AllExtractors()) {
    const StopCondition stop = StopCondition().WithBudget(Clock::System(), kSecondsPerExtraction);
    const auto selection = extractor->Extract(problem, stop);
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
  const extract::Problem problem = parsed->problem();
  if (problem.graph.enode_bound() <= kMaxENodes) ExtractAndCheck(problem);
  return 0;
}
