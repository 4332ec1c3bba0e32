#pragma once

// Explainer: has what the runtime made of the original explained for the report. While a run works
// it remembers the graphs that were tried.

#include <optional>
#include <vector>

#include "core/explain/explain.h"
#include "core/optimize/baseline.h"
#include "core/optimize/decide.h"
#include "core/optimize/job.h"
#include "core/optimize/package.h"
#include "core/report/report.h"

namespace quotient::optimize {

// One thread.
class Explainer {
 public:
  // Borrows the job.
  explicit Explainer(const Job& job) : job_(job) {}

  // To be called when the candidates have been packaged.
  void LookAt(const Baseline& baseline, const PackagedCandidates& packaged);

  // Nullopt where the kernels of the original's file are not known (Baseline::file_costs). Measures
  // the peak of the device, unless its timings are known, for a few seconds at most. Blocks.
  std::optional<report::Explanation> Explain(const Baseline& baseline,
                                             const Decision& decision) const;

 private:
  const Job& job_;
  std::vector<explain::TriedGraph> tried_;
};

}  // namespace quotient::optimize
