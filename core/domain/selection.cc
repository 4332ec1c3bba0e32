#include "core/domain/selection.h"

#include <utility>

#include "absl/strings/str_cat.h"
#include "core/base/reason.h"

namespace quotient::domain {

absl::StatusOr<std::vector<ClassId>> ChosenClasses(const TensorEGraph& tensors,
                                                   std::span<const ENodeId> choice) {
  const EGraph& graph = *tensors.egraph;
  enum class State : uint8_t { kNew, kOpen, kDone };
  std::vector<State> state(graph.class_bound(), State::kNew);
  std::vector<ClassId> order;
  // Depth-first with an explicit stack, because models are deep. `next` is the next child to visit.
  struct Frame {
    ClassId cls;
    size_t next;
  };
  std::vector<Frame> stack;
  const auto enter = [&](ClassId cls) -> absl::Status {
    if (state[cls.value()] == State::kDone) return absl::OkStatus();
    if (state[cls.value()] == State::kOpen) {
      return MakeError(Reason::kInternal,
                       absl::StrCat("choice: class ", cls.value(), " depends on itself"));
    }
    if (cls.value() >= choice.size() || !choice[cls.value()].valid() ||
        graph.Find(graph.class_of(choice[cls.value()])) != cls) {
      return MakeError(Reason::kInternal,
                       absl::StrCat("choice: class ", cls.value(), " has no e-node"));
    }
    state[cls.value()] = State::kOpen;
    stack.push_back({cls, 0});
    return absl::OkStatus();
  };
  for (const ClassId root : tensors.roots) {
    if (absl::Status status = enter(graph.Find(root)); !status.ok()) return status;
    while (!stack.empty()) {
      Frame& frame = stack.back();
      const auto children = graph.node(choice[frame.cls.value()]).children;
      if (frame.next == children.size()) {
        state[frame.cls.value()] = State::kDone;
        order.push_back(frame.cls);
        stack.pop_back();
        continue;
      }
      const ClassId child = graph.Find(children[frame.next++]);
      if (absl::Status status = enter(child); !status.ok()) return status;
    }
  }
  return order;
}

std::vector<model::NodeId> SitesOf(const TensorEGraph& tensors, std::span<const ENodeId> choice,
                                   std::span<const ClassId> order) {
  const EGraph& graph = *tensors.egraph;
  std::vector<model::NodeId> sites(graph.class_bound());
  for (size_t value = 0; value < tensors.class_of_value.size(); ++value) {
    const ClassId cls = tensors.class_of_value[value];
    if (!cls.valid()) continue;
    model::NodeId& site = sites[graph.Find(cls).value()];
    if (!site.valid()) site = tensors.original.values[value].producer;
  }
  for (size_t i = order.size(); i-- > 0;) {
    const ClassId cls = order[i];
    for (const ClassId child : graph.node(choice[cls.value()]).children) {
      model::NodeId& site = sites[graph.Find(child).value()];
      if (!site.valid()) site = sites[cls.value()];
    }
  }
  return sites;
}

std::string SiteName(const TensorEGraph& tensors, model::NodeId site) {
  if (!site.valid()) return "output";
  const model::Node& node = tensors.original.node(site);
  if (!node.name.empty()) return node.name;
  for (const model::ValueId output : node.outputs) {
    if (output.valid()) return tensors.original.value(output).name;
  }
  return node.op;
}

}  // namespace quotient::domain
