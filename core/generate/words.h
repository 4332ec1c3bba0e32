#pragma once

// How operators are written in rule text, and the numbers of weights.

#include <string>
#include <vector>

#include "core/generate/universe.h"
#include "core/model/tensor.h"

namespace quotient::generate {

// "axis=1, perm=[1,0]"
std::string AttributesText(const AttributeMap& attributes);
// Whether operators of that name may have attributes. Without brackets, rule text means any of
// them.
bool MayHaveAttributes(const Operator& op);
// What rule text has behind the operator's name for exactly this operator: "[axis=1]", "[]", or
// nothing if it may have no attributes.
std::string InBrackets(const Operator& op);

// Attributes that operators of that name may have, for trying rules that match with any. Not all of
// them suit the operands.
std::vector<AttributeMap> AttributesToTry(const std::string& name);

// Uniform in [-1, 1), different for each variable.
model::Tensor RandomWeights(const model::TensorType& type, int variable);

}  // namespace quotient::generate
