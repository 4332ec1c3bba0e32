#pragma once

// What ToGraph and RewritesOf both need to know about a choice: the order and the sites of its
// classes.

#include <span>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "core/domain/tensor_egraph.h"

namespace quotient::domain {

// The canonical classes that the roots need, children before parents. Fails with INTERNAL if one of
// them has no chosen e-node or lies on a cycle.
absl::StatusOr<std::vector<ClassId>> ChosenClasses(const TensorEGraph& tensors,
                                                   std::span<const ENodeId> choice);

// By canonical ClassId, for the classes in `order`: the original node that computed the class, or
// else that of the nearest consumer. Invalid if there is none (inputs that are outputs).
std::vector<model::NodeId> SitesOf(const TensorEGraph& tensors, std::span<const ENodeId> choice,
                                   std::span<const ClassId> order);

// The original node's name, or the name of its first output if the node has none.
std::string SiteName(const TensorEGraph& tensors, model::NodeId site);

}  // namespace quotient::domain
