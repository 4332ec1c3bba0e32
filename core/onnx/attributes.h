#pragma once

// Converts between AttributeProto and model::Attribute.

#include <optional>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "core/model/attribute.h"
#include "core/onnx/proto.h"
#include "core/onnx/weights.h"

namespace quotient::onnx {

// Returns nullopt for kinds of attributes that only opaque nodes have: graphs, sparse tensors,
// types, lists of tensors, references to a function's attributes, and tensors that model::Tensor
// cannot hold. The attribute's tensors must have passed CheckTensor.
std::optional<model::Attribute> ReadAttribute(const AttributeProto& attribute,
                                              const WeightSource& source);

// Tensors are written with their bytes inline.
AttributeProto WriteAttribute(absl::string_view name, const model::Attribute& attribute);

// The value of a Constant node. Returns nullopt for kinds that stay opaque (strings, sparse
// tensors) and for values that ReadAttribute cannot read.
std::optional<model::Tensor> ConstantNodeValue(const NodeProto& node, const WeightSource& source);

}  // namespace quotient::onnx
