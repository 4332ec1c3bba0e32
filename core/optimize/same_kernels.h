#pragma once

// Graphs that consist of the same kernels, and take the same time.

#include "core/cost/cost_model.h"
#include "core/model/graph.h"
#include "core/optimize/baseline.h"
#include "core/optimize/package.h"

namespace quotient::optimize {

// A graph with its kernels. Both are borrowed.
struct Costed {
  const model::Graph& graph;
  const cost::GraphCost& cost;
};

// Whether two graphs have the same kernels with the same constants, in whatever order. Kernels that
// are free do not count.
bool HaveSameKernels(const Costed& a, const Costed& b);

// Whether the kernels of both whose costs are estimates are the same, each as often in one as in
// the other. Else the difference of their costs says little where others are measured.
bool HaveSameEstimates(const cost::GraphCost& a, const cost::GraphCost& b);

// Whether two candidates, or a candidate and the original, are known to take the same time because
// they have the same kernels.
bool TakeSameTime(const Baseline& baseline, const Packaged& a, const Packaged& b);
bool TakesTimeOfOriginal(const Baseline& baseline, const Packaged& candidate);

}  // namespace quotient::optimize
