#pragma once

// What ToGraph and RewritesOf both need of a choice: its classes in order and where they belong.

#include <span>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "core/domain/tensor_egraph.h"

namespace quotient::domain {

// Canonical classes that the roots need, children before parents. INTERNAL if one has no choice or
// lies on a cycle.
absl::StatusOr<std::vector<ClassId>> ChosenClasses(const TensorEGraph& tensors,
                                                   std::span<const ENodeId> choice);

// By canonical ClassId, for the classes in `order`: the original node that computed the class, else
// that of the nearest consumer; invalid for none (inputs that are outputs).
std::vector<model::NodeId> SitesOf(const TensorEGraph& tensors, std::span<const ENodeId> choice,
                                   std::span<const ClassId> order);

// The original node's name, or the name of its first output if it has none.
std::string SiteName(const TensorEGraph& tensors, model::NodeId site);

}  // namespace quotient::domain
