#include "core/extract/instance.h"

#include <algorithm>
#include <limits>
#include <utility>

#include "absl/strings/str_cat.h"

namespace quotient::extract {
namespace {

bool Usable(double cost) { return cost >= 0 && cost < std::numeric_limits<double>::infinity(); }

// Which e-nodes of the whole graph can be part of an acyclic choice of finite cost: those whose
// children are all derivable, found bottom-up by counting the children still missing.
class Derivable {
 public:
  explicit Derivable(const Problem& problem)
      : graph_(problem.graph),
        cost_(graph_.enode_bound(), std::numeric_limits<double>::infinity()),
        missing_(graph_.enode_bound(), 0),
        class_derivable_(graph_.class_bound(), false) {
    std::vector<ClassId> ready;
    for (ClassId id : graph_.classes()) {
      for (ENodeId node : graph_.nodes(id)) {
        cost_[node.value()] = problem.cost.Cost(node);
        missing_[node.value()] = CountDistinct(graph_.node(node).children);
        if (Usable(node) && missing_[node.value()] == 0) MarkClass(id, ready);
      }
    }
    while (!ready.empty()) {
      const ClassId id = ready.back();
      ready.pop_back();
      for (ENodeId parent : graph_.parents(id)) {
        if (--missing_[parent.value()] == 0 && Usable(parent)) {
          MarkClass(graph_.class_of(parent), ready);
        }
      }
    }
  }

  bool has(ClassId id) const { return class_derivable_[id.value()]; }
  bool has(ENodeId node) const { return missing_[node.value()] == 0 && Usable(node); }
  double cost(ENodeId node) const { return cost_[node.value()]; }

 private:
  bool Usable(ENodeId node) const { return extract::Usable(cost_[node.value()]); }
  void MarkClass(ClassId id, std::vector<ClassId>& ready) {
    if (class_derivable_[id.value()]) return;
    class_derivable_[id.value()] = true;
    ready.push_back(id);
  }
  static uint32_t CountDistinct(std::span<const ClassId> children) {
    uint32_t count = 0;
    for (size_t i = 0; i < children.size(); ++i) {
      count +=
          std::find(children.begin(), children.begin() + i, children[i]) == children.begin() + i;
    }
    return count;
  }

  const EGraph& graph_;
  std::vector<double> cost_;
  std::vector<uint32_t> missing_;
  std::vector<bool> class_derivable_;
};

// Classes in the order of a breadth-first walk from the roots.
class Numbering {
 public:
  explicit Numbering(uint32_t class_bound) : number_(class_bound) {}

  Class Of(ClassId id) {
    Class& number = number_[id.value()];
    if (!number.valid()) {
      number = Class(static_cast<uint32_t>(ids_.size()));
      ids_.push_back(id);
    }
    return number;
  }
  const std::vector<ClassId>& ids() const { return ids_; }

 private:
  std::vector<Class> number_;
  std::vector<ClassId> ids_;
};

template <typename ForEachPair, typename Value>
void Fill(egraph::GroupedList<Value>& list, size_t num_keys, const ForEachPair& for_each_pair) {
  list = egraph::GroupedList<Value>(num_keys);
  for_each_pair([&list](uint32_t key, Value) { list.Count(key); });
  list.Allocate();
  for_each_pair([&list](uint32_t key, Value value) { list.Append(key, value); });
}

}  // namespace

absl::StatusOr<Instance> MakeInstance(const Problem& problem) {
  const EGraph& graph = problem.graph;
  const Derivable derivable(problem);
  Numbering numbering(graph.class_bound());
  Instance instance;
  instance.class_bound = graph.class_bound();
  for (ClassId root : problem.roots) {
    if (!derivable.has(graph.Find(root))) {
      return absl::NotFoundError(
          absl::StrCat("class ", root.value(), " has no finite, acyclic selection"));
    }
    const Class id = numbering.Of(graph.Find(root));
    if (std::ranges::find(instance.roots, id) == instance.roots.end()) {
      instance.roots.push_back(id);
    }
  }
  for (size_t i = 0; i < numbering.ids().size(); ++i) {
    const ClassId id = numbering.ids()[i];
    for (ENodeId node : graph.nodes(id)) {
      if (!derivable.has(node)) continue;
      instance.cost.push_back(derivable.cost(node));
      instance.class_of.push_back(Class(static_cast<uint32_t>(i)));
      instance.enode.push_back(node);
      instance.rewritten.push_back(graph.origin(node) != egraph::kInputOrigin);
      for (ClassId child : graph.node(node).children) numbering.Of(child);
    }
  }
  instance.class_id = numbering.ids();

  const auto for_each_child = [&](const auto& visit) {  // (node, child, first, multiplicity)
    for (uint32_t i = 0; i < instance.num_nodes(); ++i) {
      const std::span<const ClassId> children = graph.node(instance.enode[i]).children;
      for (auto it = children.begin(); it != children.end(); ++it) {
        if (std::find(children.begin(), it, *it) != it) continue;
        visit(i, numbering.Of(*it), static_cast<uint32_t>(std::count(it, children.end(), *it)));
      }
    }
  };
  Fill(instance.children, instance.num_nodes(), [&](const auto& add) {
    for_each_child([&add](uint32_t node, Class child, uint32_t) { add(node, child); });
  });
  Fill(instance.multiplicity, instance.num_nodes(), [&](const auto& add) {
    for_each_child([&add](uint32_t node, Class, uint32_t times) { add(node, times); });
  });
  Fill(instance.parents, instance.num_classes(), [&](const auto& add) {
    for_each_child(
        [&add](uint32_t node, Class child, uint32_t) { add(child.value(), Node(node)); });
  });
  Fill(instance.nodes, instance.num_classes(), [&](const auto& add) {
    for (uint32_t i = 0; i < instance.num_nodes(); ++i) {
      add(instance.class_of[i].value(), Node(i));
    }
  });
  return instance;
}

Selection ToSelection(const Instance& instance, std::span<const Node> choice) {
  Selection selection;
  selection.choice.resize(instance.class_bound);
  std::vector<Class> needed;
  std::vector<bool> seen(instance.num_classes(), false);
  const auto need = [&](Class id) {
    if (!seen[id.value()]) needed.push_back(id);
    seen[id.value()] = true;
  };
  for (Class root : instance.roots) need(root);
  for (size_t i = 0; i < needed.size(); ++i) {
    const Node node = choice[needed[i].value()];
    selection.choice[instance.class_id[needed[i].value()].value()] = instance.enode[node.value()];
    selection.cost += instance.cost[node.value()];
    for (Class child : instance.children[node.value()]) need(child);
  }
  return selection;
}

}  // namespace quotient::extract
