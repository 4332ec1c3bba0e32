#include "core/extract/instance_builder.h"

#include <utility>

#include "absl/container/flat_hash_map.h"

namespace quotient::extract {
namespace {

egraph::GroupedList<Node> ParentsOf(const Instance& instance) {
  egraph::GroupedList<Node> parents(instance.num_classes());
  for (const Class child : instance.children.values()) parents.Count(child.value());
  parents.Allocate();
  for (uint32_t i = 0; i < instance.num_nodes(); ++i) {
    for (const Class child : instance.children[i]) parents.Append(child.value(), Node(i));
  }
  return parents;
}

// Numbers the classes of the e-graph that several classes of the instance compute.
void NumberComputations(Instance& instance) {
  absl::flat_hash_map<ClassId, uint32_t> number;
  for (uint32_t id = 0; id < instance.num_classes(); ++id) {
    if (!instance.inside[id]) continue;
    number.emplace(instance.class_id[id], static_cast<uint32_t>(number.size()));
  }
  if (number.empty()) return;
  instance.num_computed = static_cast<uint32_t>(number.size());
  instance.computes.assign(instance.num_nodes(), Instance::kComputesAlone);
  for (uint32_t i = 0; i < instance.num_nodes(); ++i) {
    const auto found = number.find(instance.class_id[instance.class_of[i].value()]);
    if (found != number.end() && instance.enode[i].valid()) instance.computes[i] = found->second;
  }
}

}  // namespace

InstanceBuilder::InstanceBuilder(size_t num_ids, size_t num_nodes) : number_(num_ids) {
  instance_.cost.reserve(num_nodes);
  instance_.class_of.reserve(num_nodes);
  instance_.enode.reserve(num_nodes);
  instance_.rewritten.reserve(num_nodes);
  instance_.children.Reserve(num_nodes, 2 * num_nodes);
  instance_.multiplicity.Reserve(num_nodes, 2 * num_nodes);
  instance_.nodes.Reserve(num_ids, num_nodes);
}

Instance InstanceBuilder::Finish() {
  instance_.parents = ParentsOf(instance_);
  NumberComputations(instance_);
  return std::move(instance_);
}

}  // namespace quotient::extract
