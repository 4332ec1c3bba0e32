#include "core/kernels/layout_plan.h"

#include <numeric>

#include "core/kernels/storage.h"

namespace quotient::kernels {

LayoutPlanner::LayoutPlanner(size_t num_values)
    : type_(num_values, nullptr),
      parent_(num_values),
      wants_last_(num_values, false),
      wants_plain_(num_values, false) {
  std::iota(parent_.begin(), parent_.end(), 0);
}

void LayoutPlanner::AddValue(uint32_t value, const model::TensorType& type, bool constant) {
  if (!constant && type.is_static() && HasLayout(type)) type_[value] = &type;
}

void LayoutPlanner::AddOperator(LayoutRole role, std::span<const uint32_t> inputs,
                                std::span<const uint32_t> outputs) {
  switch (role) {
    case LayoutRole::kAny:
      return;
    case LayoutRole::kTied:
      return Tie(inputs, outputs);
    case LayoutRole::kChannelsLast:
      if (!inputs.empty()) Want(inputs[0], wants_last_);
      if (!outputs.empty()) Want(outputs[0], wants_last_);
      return;
    case LayoutRole::kPlain:
      for (const uint32_t value : inputs) Want(value, wants_plain_);
      for (const uint32_t value : outputs) Want(value, wants_plain_);
      return;
  }
}

std::vector<Layout> LayoutPlanner::Choose() {
  const size_t count = parent_.size();
  std::vector<double> against_last(count, 0), against_plain(count, 0);
  const auto has_choice = [this](uint32_t value) {
    return type_[value] != nullptr &&
           !SameMemory(*type_[value], Layout::kPlain, Layout::kChannelsLast);
  };
  for (uint32_t i = 0; i < count; ++i) {
    if (!has_choice(i)) continue;
    const double bytes = static_cast<double>(StorageBytes(*type_[i]));
    if (wants_plain_[i]) against_last[Find(i)] += bytes;
    if (wants_last_[i]) against_plain[Find(i)] += bytes;
  }
  std::vector<Layout> layouts(count, Layout::kPlain);
  for (uint32_t i = 0; i < count; ++i) {
    if (!has_choice(i)) continue;
    const uint32_t root = Find(i);
    if (against_plain[root] > 0 && against_last[root] <= against_plain[root]) {
      layouts[i] = Layout::kChannelsLast;
    }
  }
  return layouts;
}

void LayoutPlanner::Want(uint32_t value, std::vector<bool>& wants) {
  if (Chooses(value)) wants[value] = true;
}

void LayoutPlanner::Tie(std::span<const uint32_t> inputs, std::span<const uint32_t> outputs) {
  if (outputs.empty() || !Chooses(outputs[0])) return;
  const int rank = type_[outputs[0]]->rank();
  const auto tie = [&](uint32_t value) {
    if (Chooses(value) && type_[value]->rank() == rank) parent_[Find(outputs[0])] = Find(value);
  };
  for (const uint32_t value : inputs) tie(value);
  for (const uint32_t value : outputs) tie(value);
}

uint32_t LayoutPlanner::Find(uint32_t value) {
  while (parent_[value] != value) value = parent_[value] = parent_[parent_[value]];
  return value;
}

std::vector<Layout> PlanLayouts(const model::Graph& graph, const std::vector<bool>& runs) {
  LayoutPlanner planner(graph.values.size());
  for (uint32_t i = 0; i < graph.values.size(); ++i) {
    const bool constant = graph.is_constant(model::ValueId(i));
    planner.AddValue(i, graph.values[i].type, constant);
  }
  std::vector<uint32_t> inputs, outputs;
  const auto numbers = [](const std::vector<model::ValueId>& ids, std::vector<uint32_t>& numbers) {
    numbers.clear();
    for (const model::ValueId id : ids) {
      numbers.push_back(id.valid() ? id.value() : LayoutPlanner::kNone);
    }
  };
  for (size_t i = 0; i < graph.nodes.size(); ++i) {
    if (!runs[i]) continue;
    numbers(graph.nodes[i].inputs, inputs);
    numbers(graph.nodes[i].outputs, outputs);
    planner.AddOperator(RoleOf(graph.nodes[i].op), inputs, outputs);
  }
  return planner.Choose();
}

}  // namespace quotient::kernels
