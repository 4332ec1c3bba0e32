#include "core/kernels/layout_plan.h"

#include <numeric>

#include "core/kernels/layout.h"
#include "core/kernels/storage.h"

namespace quotient::kernels {
namespace {

using model::ValueId;

class Planner {
 public:
  explicit Planner(const model::Graph& graph)
      : graph_(graph),
        parent_(graph.values.size()),
        wants_last_(graph.values.size(), false),
        wants_plain_(graph.values.size(), false) {
    std::iota(parent_.begin(), parent_.end(), 0);
  }

  void Visit(const model::Node& node) {
    switch (RoleOf(node.op)) {
      case LayoutRole::kAny:
        return;
      case LayoutRole::kTied:
        return Tie(node);
      case LayoutRole::kChannelsLast:
        if (!node.inputs.empty()) Want(node.inputs[0], wants_last_);
        if (!node.outputs.empty()) Want(node.outputs[0], wants_last_);
        return;
      case LayoutRole::kPlain:
        for (ValueId id : node.inputs) Want(id, wants_plain_);
        for (ValueId id : node.outputs) Want(id, wants_plain_);
        return;
    }
  }

  std::vector<Layout> Choose() {
    const size_t count = parent_.size();
    std::vector<double> against_last(count, 0), against_plain(count, 0);
    for (uint32_t i = 0; i < count; ++i) {
      const model::TensorType& type = graph_.values[i].type;
      if (SameMemoryInBoth(type)) continue;
      const double bytes = static_cast<double>(StorageBytes(type));
      if (wants_plain_[i]) against_last[Find(i)] += bytes;
      if (wants_last_[i]) against_plain[Find(i)] += bytes;
    }
    std::vector<Layout> layouts(count, Layout::kPlain);
    for (uint32_t i = 0; i < count; ++i) {
      if (SameMemoryInBoth(graph_.values[i].type)) continue;
      const uint32_t root = Find(i);
      if (against_plain[root] > 0 && against_last[root] <= against_plain[root]) {
        layouts[i] = Layout::kChannelsLast;
      }
    }
    return layouts;
  }

 private:
  bool Chooses(ValueId id) const {
    return id.valid() && !graph_.is_constant(id) && graph_.value(id).type.is_static() &&
           HasLayout(graph_.value(id).type);
  }

  static bool SameMemoryInBoth(const model::TensorType& type) {
    return !type.is_static() || !HasLayout(type) ||
           SameMemory(type, Layout::kPlain, Layout::kChannelsLast);
  }

  void Want(ValueId id, std::vector<bool>& wants) {
    if (Chooses(id)) wants[id.value()] = true;
  }

  void Tie(const model::Node& node) {
    if (node.outputs.empty() || !Chooses(node.outputs[0])) return;
    const ValueId first = node.outputs[0];
    const int rank = graph_.value(first).type.rank();
    const auto tie = [&](ValueId id) {
      if (Chooses(id) && graph_.value(id).type.rank() == rank) Unite(first.value(), id.value());
    };
    for (ValueId id : node.inputs) tie(id);
    for (ValueId id : node.outputs) tie(id);
  }

  uint32_t Find(uint32_t i) {
    while (parent_[i] != i) i = parent_[i] = parent_[parent_[i]];
    return i;
  }
  void Unite(uint32_t a, uint32_t b) { parent_[Find(a)] = Find(b); }

  const model::Graph& graph_;
  std::vector<uint32_t> parent_;
  std::vector<bool> wants_last_;   // some operator reads or writes it channels last
  std::vector<bool> wants_plain_;  // ... plain
};

}  // namespace

std::vector<Layout> PlanLayouts(const model::Graph& graph, const std::vector<bool>& runs) {
  Planner planner(graph);
  for (size_t i = 0; i < graph.nodes.size(); ++i) {
    if (runs[i]) planner.Visit(graph.nodes[i]);
  }
  return planner.Choose();
}

}  // namespace quotient::kernels
