#pragma once

// Instance: the part of an extraction problem that matters, renumbered without gaps, in flat
// arrays. Only classes that the roots can reach through e-nodes of finite cost; classes and e-nodes
// that no finite, acyclic choice exists for are left out. What fuses has classes and nodes of its
// own (fusions.h). Immutable.

#include <cstdint>
#include <span>
#include <vector>

#include "absl/status/statusor.h"
#include "core/base/ids.h"
#include "core/egraph/grouped_list.h"
#include "core/extract/extract.h"

namespace quotient::extract {

using Class = StrongId<struct InstanceClassTag>;
using Node = StrongId<struct InstanceNodeTag>;

struct Instance {
  // By Node, in the order of their ENodeId within a class.
  std::vector<double> cost;
  std::vector<Class> class_of;
  // Invalid: the class's value, computed for its own sake, or a kernel that e-nodes share.
  std::vector<ENodeId> enode;
  std::vector<uint8_t> rewritten;  // 1 for those that a rule made, else 0
  // Of a part (Restrict, Blocks): what it is in the instance that the part was made from. Else
  // empty.
  std::vector<Node> origin;
  egraph::GroupedList<Class> children;  // each once, in order of occurrence
  // How often each of them occurs: parallel to children. Tree costs count so.
  egraph::GroupedList<uint32_t> multiplicity;

  // By Class.
  std::vector<ClassId> class_id;
  std::vector<bool> inside;           // of a consumer: its e-nodes are for that one only
  egraph::GroupedList<Node> nodes;    // never empty
  egraph::GroupedList<Node> parents;  // e-nodes that have the class as a child

  std::vector<Class> roots;  // each once

  // By Node, if something fuses: which classes of the e-graph it computes, numbered. Of the nodes
  // with the same number a selection has one, although costs alone might favour computing a class
  // anew for each that it fuses with.
  std::vector<uint32_t> computes;
  static constexpr uint32_t kComputesAlone = 0xffffffffu;  // nothing else computes it
  uint32_t num_computed = 0;

  size_t num_classes() const { return class_id.size(); }
  size_t num_nodes() const { return cost.size(); }
};

// NOT_FOUND if there is no finite selection.
absl::StatusOr<Instance> MakeInstance(const Problem& problem);

// The same with classes and e-nodes that no acyclic choice exists for.
Instance MakeReachableInstance(const Problem& problem);
// The error of a root that is one of them.
absl::Status NoSelection(const Instance& instance, Class root);

// The part with some e-nodes only, of what roots need. NOT_FOUND if there is no acyclic selection
// of them.
absl::StatusOr<Instance> Restrict(const Instance& instance, const std::vector<bool>& keep);

// The part without what is computed inside of consumers. Of the whole of a problem there is one:
// all that can be computed for its own sake.
absl::StatusOr<Instance> WithoutFusions(const Instance& instance);

}  // namespace quotient::extract
