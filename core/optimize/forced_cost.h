#pragma once

// What the best graph costs if a class has to be computed in one of certain ways: the price of a
// rewrite that extraction did not choose.

#include <span>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "core/base/stop.h"
#include "core/egraph/ids.h"
#include "core/extract/extract.h"
#include "core/optimize/grown_egraph.h"

namespace quotient::optimize {

// The best graph in which one of `ways`, live e-nodes of the class `cls`, computes the class, which
// then has to be computed even if no output needs it. NOT_FOUND if there is no such graph.
absl::StatusOr<extract::Selection> ExtractWith(const GrownEGraph& grown, egraph::ClassId cls,
                                               std::span<const egraph::ENodeId> ways,
                                               const StopCondition& stop);

// A kernel of a selection, with what it costs there.
struct PaidENode {
  egraph::ENodeId node;
  double us = 0;
};
// The e-nodes that a selection pays for and that are not among the `others`, those that cost most
// first.
std::vector<PaidENode> PaidBeside(const extract::Problem& problem,
                                  const extract::Selection& selection,
                                  std::span<const egraph::ENodeId> others);

}  // namespace quotient::optimize
