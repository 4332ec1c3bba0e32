#include "core/extract/several.h"

#include <algorithm>
#include <memory>
#include <optional>
#include <span>
#include <utility>

#include "absl/status/status.h"
#include "core/base/status_macros.h"
#include "core/extract/cost_decorator.h"
#include "core/extract/dual_ascent.h"
#include "core/extract/instance.h"

namespace quotient::extract {
namespace {

constexpr double kInfinity = std::numeric_limits<double>::infinity();
// Costs that differ by less than this, relatively, are equal.
constexpr double kTolerance = 1e-9;

// A problem's cost function in which forbidden e-nodes cost infinity.
class Restriction : public CostDecorator {
 public:
  explicit Restriction(const Problem& problem)
      : CostDecorator(problem.cost), allowed_(problem.graph.enode_bound(), true) {}

  bool allows(ENodeId node) const { return allowed_[node.value()]; }
  void Forbid(ENodeId node) { allowed_[node.value()] = false; }

  double Cost(ENodeId node) const override {
    return allows(node) ? CostDecorator::Cost(node) : kInfinity;
  }

 private:
  std::vector<bool> allowed_;  // By ENodeId.
};

// Lower bounds on the cost of selections that contain certain e-nodes.
class Bounds {
 public:
  Bounds(const Problem& problem, const StopCondition& stop)
      : instance_(*MakeInstance(problem)),
        dual_(AscendDual(instance_, instance_.cost, stop)),
        reduced_(problem.graph.enode_bound(), kInfinity) {
    for (uint32_t i = 0; i < instance_.num_nodes(); ++i) {
      const ENodeId node = instance_.enode[i];
      if (!node.valid()) continue;
      double& least = reduced_[node.value()];
      least = std::min(least, dual_.reduced_cost[i]);
    }
  }

  double bound() const { return dual_.bound; }
  // What the e-node adds to the bound, whatever else is chosen. Infinity if no selection contains
  // it.
  double Of(ENodeId node) const { return reduced_[node.value()]; }

  // Forbids e-nodes that no selection cheaper than `limit` contains.
  void Forbid(double limit, Restriction& restriction) const {
    const std::vector<bool> can = CanBeCheaper(instance_, dual_, limit);
    std::vector<bool> keep(reduced_.size(), false);
    for (uint32_t i = 0; i < can.size(); ++i) {
      if (can[i] && instance_.enode[i].valid()) keep[instance_.enode[i].value()] = true;
    }
    for (uint32_t i = 0; i < keep.size(); ++i) {
      if (!keep[i]) restriction.Forbid(ENodeId(i));
    }
  }

 private:
  const Instance instance_;
  const DualBound dual_;
  std::vector<double> reduced_;  // By ENodeId.
};

// The needed classes in the order of a breadth-first walk from the roots. Which class comes next
// depends only on the choices for the classes before it.
std::vector<ClassId> Walk(const Problem& problem, const Selection& selection) {
  std::vector<ClassId> order;
  std::vector<bool> seen(selection.choice.size(), false);
  const auto visit = [&](ClassId id) {
    if (!seen[id.value()]) order.push_back(id);
    seen[id.value()] = true;
  };
  for (const ClassId root : problem.roots) visit(problem.graph.Find(root));
  for (size_t i = 0; i < order.size(); ++i) {
    for (const ClassId child : problem.graph.node(selection.of(order[i])).children) {
      visit(problem.graph.Find(child));
    }
  }
  return order;
}

// All selections whose walk begins with a given prefix of e-nodes, and for the next class chooses
// none of the forbidden ones.
struct Part {
  std::span<const ENodeId> prefix() const {
    return length == 0 ? std::span<const ENodeId>() : std::span(*walk).first(length);
  }

  std::shared_ptr<const std::vector<ENodeId>> walk;
  size_t length = 0;  // Length of the given prefix of the walk.
  std::vector<ENodeId> forbidden;
  double lower_bound = 0;
};

struct Found {
  Selection selection;
  Part part;  // The part that it was found in.
  uint64_t kind = 0;
  bool split = false;
};

// Lawler's procedure (Management Science 18, 1972) with bounds. The best selection of a part splits
// the other selections of the part by the first class where they differ from its walk.
class Search {
 public:
  Search(const Problem& problem, const Extractor& extractor, const SeveralOptions& options,
         const StopCondition& stop)
      : problem_(problem),
        extractor_(extractor),
        count_(std::max<size_t>(options.count, 1)),
        within_(options.within),
        kind_(options.kind),
        stop_(stop),
        possible_(problem) {}

  absl::StatusOr<std::vector<Selection>> Run() {
    QUOTIENT_ASSIGN_OR_RETURN(Selection best, extractor_.Extract(problem_, stop_));
    lower_bound_ = best.lower_bound;
    const uint64_t kind = kind_ ? kind_(best) : 0;
    found_.push_back({.selection = std::move(best), .kind = kind});
    if (count_ > 1 && !stop_.ShouldStop()) {
      bounds_.emplace(problem_, stop_);
      ForbidExpensive();
      QUOTIENT_RETURN_IF_ERROR(SplitBest());
    }
    return Take();
  }

 private:
  double cost(size_t i) const { return found_[i].selection.cost; }
  // The cost from which on `within` rules a selection out.
  double share_limit() const {
    if (within_ == kInfinity) return kInfinity;
    constexpr double kAboveZero = std::numeric_limits<double>::min();
    return std::max(cost(0) * (1 + within_) * (1 + kTolerance), kAboveZero);
  }
  // Selections of this cost or more are not wanted.
  double limit() const {
    if (found_.size() < count_) return share_limit();
    return std::min(share_limit(), cost(count_ - 1) * (1 - kTolerance));
  }

  // Each selection was found in a part. While any such part may contain a wanted selection, splits
  // the one of the cheapest selection. The part of the last wanted selection is not split, because
  // nothing in it is cheaper.
  absl::Status SplitBest() {
    for (size_t i = 0; i < found_.size() && i + 1 < count_;) {
      if (stop_.ShouldStop() || cost(i) >= limit()) break;
      if (found_[i].split) {
        ++i;
        continue;
      }
      found_[i].split = true;
      for (Part& part : Split(found_[i])) {
        if (stop_.ShouldStop() || part.lower_bound >= limit()) break;
        QUOTIENT_RETURN_IF_ERROR(Try(std::move(part)));
      }
      i = 0;  // Cheaper ones may have been inserted before it.
    }
    return absl::OkStatus();
  }

  // The parts, sorted by their lower bounds.
  std::vector<Part> Split(const Found& found) const {
    const std::vector<ClassId> order = Walk(problem_, found.selection);
    auto walk = std::make_shared<std::vector<ENodeId>>();
    for (const ClassId id : order) walk->push_back(found.selection.of(id));
    std::vector<Part> parts;
    double bound_of_prefix = bounds_->bound();
    for (size_t i = 0; i < order.size(); ++i) {
      if (i >= found.part.length) {
        Part part = {.walk = walk, .length = i};
        if (i == found.part.length) part.forbidden = found.part.forbidden;
        part.forbidden.push_back((*walk)[i]);
        part.lower_bound = bound_of_prefix + LeastAllowedCost(part.forbidden);
        if (part.lower_bound < limit()) parts.push_back(std::move(part));
      }
      bound_of_prefix += bounds_->Of((*walk)[i]);
    }
    std::ranges::stable_sort(parts, {}, &Part::lower_bound);
    return parts;
  }

  // The least that an e-node of the class adds to the bound, among possible e-nodes that are not
  // forbidden.
  double LeastAllowedCost(std::span<const ENodeId> forbidden) const {
    double least = kInfinity;
    for (const ENodeId node : problem_.graph.nodes(problem_.graph.class_of(forbidden.front()))) {
      if (!possible_.allows(node)) continue;
      if (std::ranges::find(forbidden, node) != forbidden.end()) continue;
      least = std::min(least, bounds_->Of(node));
    }
    return least;
  }

  // Extracts from the part. While the result is of a known kind, forbids its choice and tries
  // again.
  absl::Status Try(Part part) {
    const ClassId next = problem_.graph.class_of(part.forbidden.front());
    Restriction restriction = possible_;
    for (const ENodeId chosen : part.prefix()) {
      if (!possible_.allows(chosen)) return absl::OkStatus();
      for (const ENodeId node : problem_.graph.nodes(problem_.graph.class_of(chosen))) {
        if (node != chosen) restriction.Forbid(node);
      }
    }
    for (const ENodeId node : part.forbidden) restriction.Forbid(node);
    // More e-nodes may have been ruled out since the part was made.
    while (LeastAllowedCost(part.forbidden) < kInfinity && !stop_.ShouldStop()) {
      absl::StatusOr<Selection> selection =
          extractor_.Extract({problem_.graph, restriction, problem_.roots}, stop_);
      if (absl::IsNotFound(selection.status())) break;
      QUOTIENT_RETURN_IF_ERROR(selection.status());
      if (selection->cost >= limit()) break;
      const ENodeId chosen = selection->of(next);
      if (Keep({*std::move(selection), part})) break;
      part.forbidden.push_back(chosen);
      restriction.Forbid(chosen);
    }
    return absl::OkStatus();
  }

  // False if a selection of the same kind is known that costs no more.
  bool Keep(Found found) {
    if (kind_) {
      found.kind = kind_(found.selection);
      const auto same = std::ranges::find(found_, found.kind, &Found::kind);
      if (same != found_.end()) {
        if (same->selection.cost <= found.selection.cost * (1 + kTolerance)) return false;
        found_.erase(same);
      }
    }
    const auto cheaper_or_equal = [&](const Found& other) {
      return other.selection.cost <= found.selection.cost;
    };
    const auto place = std::ranges::find_if_not(found_, cheaper_or_equal);
    found_.insert(place, std::move(found));
    while (found_.size() > count_ || found_.back().selection.cost >= share_limit()) {
      found_.pop_back();
    }
    ForbidExpensive();
    return true;
  }

  // Does something only if the limit has fallen, which is rare.
  void ForbidExpensive() {
    if (limit() >= last_limit_) return;
    last_limit_ = limit();
    bounds_->Forbid(last_limit_, possible_);
  }

  std::vector<Selection> Take() {
    std::vector<Selection> taken;
    for (Found& found : found_) {
      found.selection.lower_bound = lower_bound_;
      taken.push_back(std::move(found.selection));
    }
    return taken;
  }

  const Problem& problem_;
  const Extractor& extractor_;
  const size_t count_;
  const double within_;
  const std::function<uint64_t(const Selection&)>& kind_;
  const StopCondition& stop_;
  Restriction possible_;  // What wanted selections may contain.
  std::optional<Bounds> bounds_;
  double last_limit_ = kInfinity;
  double lower_bound_ = 0;
  std::vector<Found> found_;  // Cheapest first, at most `count_`.
};

}  // namespace

absl::StatusOr<std::vector<Selection>> ExtractSeveral(const Problem& problem,
                                                      const Extractor& extractor,
                                                      const SeveralOptions& options,
                                                      const StopCondition& stop) {
  return Search(problem, extractor, options, stop).Run();
}

}  // namespace quotient::extract
