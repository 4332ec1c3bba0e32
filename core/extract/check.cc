// Checks a selection on the e-graph itself. Shares no code with the extractors.

#include <algorithm>
#include <cmath>
#include <map>
#include <vector>

#include "absl/strings/str_cat.h"
#include "core/base/reason.h"
#include "core/base/status_macros.h"
#include "core/extract/extract.h"

namespace quotient::extract {
namespace {

class Checker {
 public:
  Checker(const Problem& problem, const Selection& selection)
      : problem_(problem), selection_(selection), mark_(selection.choice.size(), Mark::kNew) {}

  absl::StatusOr<double> Check() {
    if (selection_.choice.size() != problem_.graph.class_bound()) {
      return MakeError(Reason::kInternal, "selection: wrong number of classes");
    }
    for (ClassId root : problem_.roots) {
      QUOTIENT_RETURN_IF_ERROR(Walk(problem_.graph.Find(root)));
    }
    for (uint32_t i = 0; i < mark_.size(); ++i) {
      if (mark_[i] == Mark::kNew && selection_.choice[i].valid()) {
        return Error(ClassId(i), "has a choice and is not needed");
      }
    }
    return cost_ - Savings();
  }

 private:
  enum class Mark : uint8_t { kNew, kOpen, kDone };
  struct Frame {
    ClassId id;
    size_t next_child;
  };

  // Depth-first from `start`, with an explicit stack: graphs can be deep.
  absl::Status Walk(ClassId start) {
    if (mark_[start.value()] == Mark::kDone) return absl::OkStatus();
    std::vector<Frame> stack;
    QUOTIENT_RETURN_IF_ERROR(Enter(start, stack));
    while (!stack.empty()) {
      Frame& frame = stack.back();
      const auto children = problem_.graph.node(selection_.of(frame.id)).children;
      if (frame.next_child == children.size()) {
        mark_[frame.id.value()] = Mark::kDone;
        stack.pop_back();
        continue;
      }
      const ClassId child = problem_.graph.Find(children[frame.next_child++]);
      if (mark_[child.value()] == Mark::kOpen) return Error(child, "is on a cycle");
      if (mark_[child.value()] == Mark::kNew) QUOTIENT_RETURN_IF_ERROR(Enter(child, stack));
    }
    return absl::OkStatus();
  }

  absl::Status Enter(ClassId id, std::vector<Frame>& stack) {
    const ENodeId node = selection_.of(id);
    if (!node.valid()) return Error(id, "is needed but has no choice");
    if (node.value() >= problem_.graph.enode_bound()) return Error(id, "chose no e-node");
    if (problem_.graph.class_of(node) != id) return Error(id, "chose another class's e-node");
    const double cost = problem_.cost.Cost(node);
    if (!std::isfinite(cost)) return Error(id, "chose an e-node of infinite cost");
    cost_ += cost;
    mark_[id.value()] = Mark::kOpen;
    stack.push_back({id, 0});
    return absl::OkStatus();
  }

  double Savings() const { return FusionSavings() + SharedKernelSavings(); }

  // Sums savings by consumer, over producers that no other node uses.
  double FusionSavings() const {
    std::map<ENodeId, std::vector<Fusion>> by_consumer;
    for (const Fusion& fusion : problem_.cost.Fusions()) {
      if (Chosen(fusion.consumer)) by_consumer[fusion.consumer].push_back(fusion);
    }
    if (by_consumer.empty()) return 0;
    const std::vector<int> users = CountUsers();
    double savings = 0;
    for (const auto& [consumer, fusions] : by_consumer) {
      double best = 0;
      for (const Fusion& fusion : fusions) {
        if (!Chosen(fusion.producer)) continue;
        if (users[problem_.graph.class_of(fusion.producer).value()] != 1) continue;
        best = std::max(best, fusion.saving);
      }
      savings += best;
    }
    return savings;
  }

  double SharedKernelSavings() const {
    double savings = 0;
    for (const SharedKernel& kernel : problem_.cost.SharedKernels()) {
      double each = 0;
      for (const ENodeId member : kernel.members) {
        each += Chosen(member) ? problem_.cost.Cost(member) : 0;
      }
      if (kernel.cost < each) savings += each - kernel.cost;
    }
    return savings;
  }

  bool Chosen(ENodeId node) const {
    const ClassId id = problem_.graph.class_of(node);
    return mark_[id.value()] == Mark::kDone && selection_.of(id) == node;
  }

  // Counts the uses by roots and by children, with multiplicity.
  std::vector<int> CountUsers() const {
    std::vector<int> users(mark_.size(), 0);
    for (const ClassId root : problem_.roots) ++users[problem_.graph.Find(root).value()];
    for (uint32_t i = 0; i < mark_.size(); ++i) {
      if (mark_[i] != Mark::kDone) continue;
      for (const ClassId child : problem_.graph.node(selection_.choice[i]).children) {
        ++users[problem_.graph.Find(child).value()];
      }
    }
    return users;
  }

  static absl::Status Error(ClassId id, absl::string_view what) {
    return MakeError(Reason::kInternal, absl::StrCat("selection: class ", id.value(), " ", what));
  }

  const Problem& problem_;
  const Selection& selection_;
  std::vector<Mark> mark_;
  double cost_ = 0;
};

}  // namespace

absl::StatusOr<double> CheckSelection(const Problem& problem, const Selection& selection) {
  return Checker(problem, selection).Check();
}

}  // namespace quotient::extract
