#include "core/optimize/forced_cost.h"

#include <algorithm>
#include <functional>
#include <limits>
#include <utility>

#include "absl/container/flat_hash_set.h"
#include "core/egraph/ranges.h"
#include "core/extract/cost_decorator.h"
#include "core/extract/fusions.h"

namespace quotient::optimize {
namespace {

using egraph::ClassId;
using egraph::ENodeId;

// The costs of another function, but some e-nodes must not be chosen.
class WithoutSome final : public extract::CostDecorator {
 public:
  WithoutSome(const extract::CostFunction& all, absl::flat_hash_set<ENodeId> forbidden)
      : CostDecorator(all), forbidden_(std::move(forbidden)) {}

  double Cost(ENodeId node) const override {
    return forbidden_.contains(node) ? std::numeric_limits<double>::infinity()
                                     : CostDecorator::Cost(node);
  }

 private:
  const absl::flat_hash_set<ENodeId> forbidden_;
};

}  // namespace

absl::StatusOr<extract::Selection> ExtractWith(const GrownEGraph& grown, ClassId cls,
                                               std::span<const ENodeId> ways,
                                               const StopCondition& stop) {
  const extract::Problem whole = grown.problem();
  absl::flat_hash_set<ENodeId> forbidden;
  for (const ENodeId node : whole.graph.nodes(whole.graph.Find(cls))) {
    if (std::ranges::find(ways, node) == ways.end()) forbidden.insert(node);
  }
  const WithoutSome costs(whole.cost, std::move(forbidden));
  std::vector<ClassId> roots = grown.tensors().CanonicalRoots();
  const ClassId wanted = whole.graph.Find(cls);
  if (std::ranges::find(roots, wanted) == roots.end()) roots.push_back(wanted);
  return extract::FindExtractor("dag")->Extract({whole.graph, costs, roots}, stop);
}

std::vector<PaidENode> PaidBeside(const extract::Problem& problem,
                                  const extract::Selection& selection,
                                  std::span<const ENodeId> others) {
  const absl::flat_hash_set<ENodeId> known(others.begin(), others.end());
  std::vector<PaidENode> paid;
  for (const extract::Charges::Node& charge : extract::ChargesOf(problem, selection).nodes) {
    const double us = problem.cost.Cost(charge.node) - charge.saving;
    if (us > 0 && !known.contains(charge.node)) paid.push_back({charge.node, us});
  }
  std::ranges::stable_sort(paid, std::greater(), &PaidENode::us);
  return paid;
}

}  // namespace quotient::optimize
