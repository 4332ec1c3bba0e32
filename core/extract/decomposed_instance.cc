#include "core/extract/decomposed_instance.h"

#include <algorithm>
#include <bit>
#include <utility>

#include "core/extract/bottom_up.h"
#include "core/extract/components.h"
#include "core/extract/requirements.h"

namespace quotient::extract {

std::optional<DecomposedInstance> DecomposedInstance::Make(const Instance& instance,
                                                           uint32_t max_width,
                                                           const StopCondition& stop) {
  DecomposedInstance result(instance);
  result.FindFree();
  result.forced_ = FindForced(instance, Requirements::Compute(instance, stop));
  result.FindVertices();
  result.FindCliques();
  std::optional<TreeDecomposition> tree =
      Decompose(result.num_vertices_, result.cliques_, max_width, stop);
  if (!tree.has_value()) return std::nullopt;
  result.tree_ = *std::move(tree);
  if (!result.AssignSlots()) return std::nullopt;
  result.PlaceNodes();
  return result;
}

uint32_t DecomposedInstance::Shared(Node node) const {
  if (instance_.computes.empty()) return kNone;
  const uint32_t number = instance_.computes[node.value()];
  return number == Instance::kComputesAlone ? kNone : number;
}

void DecomposedInstance::FindFree() {
  free_.resize(instance_.num_classes());
  for (uint32_t i = 0; i < instance_.num_nodes(); ++i) {
    if (instance_.cost[i] > 0 || !instance_.children[i].empty()) continue;
    if (Shared(Node(i)) != kNone) continue;
    Node& node = free_[instance_.class_of[i].value()];
    if (!node.valid()) node = Node(i);
  }
}

void DecomposedInstance::FindVertices() {
  components_ = StrongComponents(instance_);
  vertex_of_.assign(instance_.num_classes(), kNone);
  for (uint32_t i = 0; i < instance_.num_classes(); ++i) {
    if (!free_[i].valid()) vertex_of_[i] = num_vertices_++;
  }
  required_.assign(num_vertices_, false);
  for (uint32_t i = 0; i < instance_.num_classes(); ++i) {
    if (forced_[i] && vertex_of_[i] != kNone) required_[vertex_of_[i]] = true;
  }
  shared_.assign(instance_.num_computed, kNone);
  for (uint32_t i = 0; i < instance_.num_nodes(); ++i) {
    const uint32_t number = Shared(Node(i));
    if (number != kNone && shared_[number] == kNone) shared_[number] = num_vertices_++;
  }
  required_.resize(num_vertices_, false);
  is_shared_.assign(num_vertices_, false);
  for (const uint32_t vertex : shared_) {
    if (vertex != kNone) is_shared_[vertex] = true;
  }
}

bool DecomposedInstance::MustRequire(Class id, Class child) const {
  if (free_[child.value()].valid()) return false;
  return !forced_[child.value()] || components_[child.value()] == components_[id.value()];
}

void DecomposedInstance::FindCliques() {
  for (uint32_t i = 0; i < instance_.num_nodes(); ++i) {
    const Class id = instance_.class_of[i];
    const std::span<const Class> children = instance_.children[i];
    const bool needs_itself = std::ranges::find(children, id) != children.end();
    if (free_[id.value()].valid() || needs_itself) continue;
    nodes_.push_back(Node(i));
    cliques_.Push(vertex_of_[id.value()]);
    for (const Class child : children) {
      if (MustRequire(id, child)) cliques_.Push(vertex_of_[child.value()]);
    }
    if (const uint32_t number = Shared(Node(i)); number != kNone) cliques_.Push(shared_[number]);
    cliques_.EndKey();
  }
}

// Assigns slots from the root down: to each vertex the first slot that no neighbor has. The
// neighbors are all in one bag, so no more slots are used than the bag has vertices.
bool DecomposedInstance::AssignSlots() {
  std::vector<uint32_t> size(instance_.num_classes(), 0);  // By component.
  for (const uint32_t component : components_) ++size[component];
  std::vector<bool> cyclic(num_vertices_, false);
  for (uint32_t i = 0; i < instance_.num_classes(); ++i) {
    if (vertex_of_[i] != kNone) cyclic[vertex_of_[i]] = size[components_[i]] > 1;
  }
  slot_.resize(num_vertices_);
  place_.assign(num_vertices_, kNone);
  for (uint32_t bag = num_vertices_; bag-- > 0;) {
    uint32_t slots = 0, places = 0;
    for (const uint32_t neighbor : tree_.neighbors[bag]) {
      slots |= Slot(neighbor);
      if (cyclic[neighbor]) places |= 1u << place_[neighbor];
    }
    const uint32_t vertex = tree_.vertex[bag];
    slot_[vertex] = static_cast<uint32_t>(std::countr_one(slots));
    if (!cyclic[vertex]) continue;
    place_[vertex] = static_cast<uint32_t>(std::countr_one(places));
    if (place_[vertex] == PathMatrix::kPlaces) return false;
  }
  return true;
}

void DecomposedInstance::PlaceNodes() {
  offered_.resize(num_vertices_);
  used_.resize(num_vertices_);
  const auto extend = [](Interval& interval, uint32_t bag) {
    interval = {std::min(interval.low, bag), std::max(interval.high, bag)};
  };
  std::vector<uint32_t> bag_of(nodes_.size());
  nodes_at_ = egraph::GroupedList<Node>(num_vertices_);
  for (uint32_t i = 0; i < nodes_.size(); ++i) {
    const std::span<const uint32_t> clique = cliques_[i];
    // The lowest of the bags of its vertices contains them all.
    uint32_t& bag = bag_of[i] = kNone;
    for (const uint32_t vertex : clique) bag = std::min(bag, tree_.bag_of[vertex]);
    nodes_at_.Count(bag);
    extend(offered_[clique[0]], bag);
    for (const uint32_t vertex : clique.subspan(1)) {
      extend(is_shared_[vertex] ? offered_[vertex] : used_[vertex], bag);
    }
  }
  nodes_at_.Allocate();
  for (uint32_t i = 0; i < nodes_.size(); ++i) nodes_at_.Append(bag_of[i], nodes_[i]);
  for (uint32_t vertex = 0; vertex < num_vertices_; ++vertex) {
    if (required_[vertex]) extend(used_[vertex], tree_.bag_of[vertex]);
  }
}

bool DecomposedInstance::AllBelow(const Interval& interval, uint32_t bag) const {
  if (interval.low == kNone) return true;
  return tree_.IsBelow(bag, interval.low) && tree_.IsBelow(bag, interval.high);
}

Offers DecomposedInstance::DescribeOffers(std::span<const Node> nodes, uint32_t bag) const {
  const Class id = instance_.class_of[nodes[0].value()];
  const uint32_t vertex = vertex_of_[id.value()];
  Offers result = {Slot(vertex), place_[vertex], AllBelow(offered_[vertex], bag), {}};
  for (const Node node : nodes) {
    Offer& offer = result.offers.emplace_back(Offer{node});
    for (const Class child : instance_.children[node.value()]) {
      if (!MustRequire(id, child)) continue;
      const uint32_t needed = vertex_of_[child.value()];
      offer.needs |= Slot(needed);
      const bool may_close_cycle = components_[child.value()] == components_[id.value()];
      if (may_close_cycle) offer.leads_to |= 1u << place_[needed];
    }
    if (const uint32_t number = Shared(node); number != kNone) {
      offer.computes = Slot(shared_[number]);
    }
  }
  return result;
}

Bag DecomposedInstance::DescribeBag(uint32_t bag) const {
  const uint32_t top = tree_.vertex[bag];
  Bag result = {.num_children = tree_.num_children[bag]};
  if (required_[top]) result.required = Slot(top);
  const auto look_at = [&](uint32_t vertex) {
    const bool offers_end = AllBelow(offered_[vertex], bag);
    const bool users_end = AllBelow(used_[vertex], bag);
    if (is_shared_[vertex]) {
      result.exclusive |= Slot(vertex);
      if (offers_end) result.no_more_exclusive |= Slot(vertex);
      return;
    }
    if (offers_end) result.no_more_offers |= Slot(vertex);
    if (users_end) result.no_more_users |= Slot(vertex);
    if (place_[vertex] == kNone) return;
    if (offers_end) result.no_more_paths |= PathMatrix::To(place_[vertex]);
    if (users_end) result.no_more_paths |= PathMatrix::From(place_[vertex]);
  };
  look_at(top);
  for (const uint32_t neighbor : tree_.neighbors[bag]) look_at(neighbor);

  const std::span<const Node> nodes = nodes_at_[bag];
  for (size_t begin = 0, end = 0; begin < nodes.size(); begin = end) {
    const auto class_of = [&](size_t i) { return instance_.class_of[nodes[i].value()]; };
    while (end < nodes.size() && class_of(end) == class_of(begin)) ++end;
    result.classes.push_back(DescribeOffers(nodes.subspan(begin, end - begin), bag));
  }
  return result;
}

std::vector<Node> DecomposedInstance::Complete(std::span<const Node> chosen) const {
  std::vector<Node> choice = MinimizeTreeCost(instance_).choice;
  std::vector<Class> needed = instance_.roots;
  std::vector<bool> seen(instance_.num_classes(), false);
  for (const Class root : needed) seen[root.value()] = true;
  for (size_t i = 0; i < needed.size(); ++i) {
    const uint32_t id = needed[i].value();
    choice[id] = free_[id].valid() ? free_[id] : chosen[id];
    for (const Class child : instance_.children[choice[id].value()]) {
      if (!seen[child.value()]) needed.push_back(child);
      seen[child.value()] = true;
    }
  }
  return choice;
}

}  // namespace quotient::extract
