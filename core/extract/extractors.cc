// The table of extractors.

#include <algorithm>
#include <cmath>

#include "absl/strings/str_cat.h"
#include "core/base/reason.h"
#include "core/extract/dag.h"
#include "core/extract/exact.h"
#include "core/extract/extract.h"
#include "core/extract/history.h"
#include "core/extract/ilp.h"
#include "core/extract/tree.h"

namespace quotient::extract {

namespace {

// In debug builds, an error if the answer is wrong.
absl::StatusOr<Selection> Checked([[maybe_unused]] const char* name,
                                  [[maybe_unused]] const Problem& problem,
                                  absl::StatusOr<Selection> selection) {
#ifndef NDEBUG
  if (selection.ok()) {
    const absl::StatusOr<double> cost = CheckSelection(problem, *selection);
    if (!cost.ok()) return cost.status();
    const double tolerance = 1e-6 * std::max(*cost, 1e-3);
    if (std::abs(*cost - selection->cost) > tolerance ||
        selection->lower_bound > *cost + tolerance) {
      return MakeError(Reason::kInternal,
                       absl::StrCat(name, " says ", selection->cost, ", at least ",
                                    selection->lower_bound, "; it costs ", *cost));
    }
  }
#endif
  return selection;
}

}  // namespace

absl::StatusOr<Selection> Extractor::Extract(const Problem& problem,
                                             const StopCondition& stop) const {
  return Checked(name(), problem, Choose(problem, stop));
}

absl::StatusOr<Selection> Extractor::ExtractAgain(const Problem& problem, BlockMemory& memory,
                                                  const StopCondition& stop) const {
  return Checked(name(), problem, ChooseAgain(problem, memory, stop));
}

std::span<const Extractor* const> AllExtractors() {
  static const TreeExtractor tree;
  static const HistoryExtractor history;
  static const DagExtractor dag;
  static const IlpExtractor ilp;
  static const ExactExtractor exact;
  static const Extractor* const all[] = {&tree, &history, &dag, &ilp, &exact};
  return all;
}

const Extractor* FindExtractor(absl::string_view name) {
  for (const Extractor* extractor : AllExtractors()) {
    if (extractor->name() == name) return extractor;
  }
  return nullptr;
}

}  // namespace quotient::extract
