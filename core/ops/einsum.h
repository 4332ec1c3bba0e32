#pragma once

// The equation of an Einsum of two operands (ONNX operator specification, Einsum-12).

#include <optional>
#include <string>

#include "core/model/attribute.h"

namespace quotient::ops {

// The label of each axis. Axes of one label have one size, or are broadcast to it; a label that the
// output lacks is summed over.
struct EinsumLabels {
  std::string left;
  std::string right;
  std::string output;
};

// Returns nullopt for an equation that is not of this kind: with another number of operands, an
// ellipsis, a label twice in one place or in the output alone, or without an arrow although there
// are capital letters, whose order is then not known. Spaces do not count.
std::optional<EinsumLabels> ReadEinsum(const model::AttributeMap& attributes);

// Labels by where they are: those of a batch of matrix products.
struct EinsumKinds {
  std::string batch;    // In all three places. These kinds are in the order of the output.
  std::string rows;     // Of the left operand and the output.
  std::string columns;  // Of the right operand and the output.
  std::string summed;   // Of one operand or both: first those of the left one, in its order.
};
EinsumKinds KindsOf(const EinsumLabels& labels);

}  // namespace quotient::ops
