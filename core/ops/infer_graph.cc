#include "core/ops/infer_graph.h"

#include <algorithm>
#include <set>
#include <utility>

#include "absl/strings/str_cat.h"
#include "core/base/reason.h"
#include "core/base/status_macros.h"
#include "core/ops/opaque_types.h"

namespace quotient::ops {
namespace {

using model::Dim;
using model::Graph;
using model::Node;
using model::NodeId;
using model::Shape;
using model::TensorType;
using model::Value;
using model::ValueId;

std::string NameOf(const Graph& graph, const Node& node) {
  if (!node.name.empty()) return absl::StrCat(node.op, " node '", node.name, "'");
  for (ValueId output : node.outputs) {
    if (output.valid()) return absl::StrCat(node.op, " node of '", graph.value(output).name, "'");
  }
  return absl::StrCat(node.op, " node");
}

using Bindings = std::map<std::string, int64_t>;

absl::Status BindDim(absl::string_view input, size_t axis, int64_t number, Dim& dim,
                     Bindings& bindings) {
  if (number < 0 || (dim.is_number() && dim.number() != number)) {
    return MakeError(Reason::kOptionInvalid, absl::StrCat("shape: dimension ", axis, " of input '",
                                                          input, "' cannot be ", number));
  }
  if (dim.is_symbol()) {
    const auto [bound, fresh] = bindings.emplace(dim.symbol(), number);
    if (!fresh && bound->second != number) {
      return MakeError(Reason::kOptionInvalid,
                       absl::StrCat("shape: '", dim.symbol(), "' cannot be both ", bound->second,
                                    " and ", number));
    }
  }
  dim = number;
  return absl::OkStatus();
}

absl::Status BindInput(Value& value, const std::vector<int64_t>& dims, Bindings& bindings) {
  if (!value.type.has_rank()) value.type.shape = Shape(dims.size());
  Shape& shape = *value.type.shape;
  if (shape.size() != dims.size()) {
    return MakeError(Reason::kOptionInvalid,
                     absl::StrCat("shape: input '", value.name, "' has rank ", shape.size(),
                                  ", not ", dims.size()));
  }
  for (size_t i = 0; i < dims.size(); ++i) {
    QUOTIENT_RETURN_IF_ERROR(BindDim(value.name, i, dims[i], shape[i], bindings));
  }
  return absl::OkStatus();
}

void Substitute(const Bindings& bindings, TensorType& type) {
  if (!type.has_rank()) return;
  for (Dim& dim : *type.shape) {
    const auto bound = bindings.find(dim.symbol());
    if (bound != bindings.end()) dim = bound->second;
  }
}

absl::Status VisitAll(Graph& graph, GraphInference::Declared declared, NodeId* senseless) {
  GraphInference inference(graph, declared);
  for (uint32_t i = 0; i < graph.nodes.size(); ++i) {
    const absl::Status status = inference.Visit(NodeId(i));
    if (!status.ok() && senseless != nullptr) *senseless = NodeId(i);
    QUOTIENT_RETURN_IF_ERROR(status);
  }
  return absl::OkStatus();
}

}  // namespace

GraphInference::GraphInference(Graph& graph, Declared declared)
    : graph_(graph), declared_(declared), is_output_(graph.values.size(), false) {
  for (ValueId output : graph.outputs) is_output_[output.value()] = true;
}

const Elements* GraphInference::elements(ValueId id) {
  if (elements_.size() <= id.value()) elements_.resize(graph_.values.size());
  std::optional<Elements>& known = elements_[id.value()];
  const Value& value = graph_.value(id);
  if (!known.has_value() && value.constant.has_value()) known = ElementsOf(*value.constant);
  return known.has_value() ? &*known : nullptr;
}

std::vector<InferInput> GraphInference::InputsOf(const Node& node) {
  elements_.resize(graph_.values.size());  // now, so that pointers into it stay valid
  std::vector<InferInput> inputs(node.inputs.size());
  for (size_t i = 0; i < inputs.size(); ++i) {
    const ValueId id = node.inputs[i];
    if (!id.valid()) continue;
    const Value& value = graph_.value(id);
    inputs[i] = {&value.type, value.constant.has_value() ? &*value.constant : nullptr,
                 elements(id)};
  }
  return inputs;
}

absl::Status GraphInference::Visit(NodeId id) {
  Node& node = graph_.node(id);
  if (node.is_opaque()) {
    SetOpaqueTypes(node);
    return absl::OkStatus();
  }
  const auto visit = [&]() -> absl::Status {
    QUOTIENT_RETURN_IF_ERROR(Canonicalize(node, InputsOf(node)));
    const std::vector<InferInput> inputs = InputsOf(node);
    const InferContext context{node.attributes, inputs, static_cast<int>(node.outputs.size())};
    QUOTIENT_ASSIGN_OR_RETURN(InferResult result, InferNode(*FindOp(node.op), context));
    return SetTypes(node, std::move(result));
  };
  return Annotate(visit(), NameOf(graph_, node));
}

// What the model declares of an opaque node goes first.
void GraphInference::SetOpaqueTypes(const Node& node) {
  const std::vector<TensorType> types = OpaqueOutputTypes(node, InputsOf(node));
  for (size_t i = 0; i < types.size(); ++i) {
    if (!node.outputs[i].valid()) continue;
    TensorType& type = graph_.value(node.outputs[i]).type;
    if (model::Compatible(type, types[i])) type = model::Refine(type, types[i]);
  }
}

absl::Status GraphInference::SetTypes(const Node& node, InferResult result) {
  for (size_t i = 0; i < node.outputs.size(); ++i) {
    if (!node.outputs[i].valid()) continue;
    Value& value = graph_.value(node.outputs[i]);
    const TensorType& inferred = result.types[i];
    if (!model::Compatible(inferred, value.type)) {
      if (declared_ == Declared::kMayBeStale) {
        value.type = inferred;
        continue;
      }
      return MakeError(
          Reason::kModelShape,
          absl::StrCat("output '", value.name, "' is declared as ", model::ToString(value.type),
                       ", but is ", model::ToString(inferred)));
    }
    // Our symbols go back to those of the inputs, which says more than a name made for one value;
    // yet what the model calls its own outputs is its interface.
    const uint32_t id = node.outputs[i].value();
    const bool is_output = id < is_output_.size() && is_output_[id];
    value.type =
        is_output ? model::Refine(value.type, inferred) : model::Refine(inferred, value.type);
  }
  if (result.elements.has_value() && node.outputs[0].valid()) {
    elements_[node.outputs[0].value()] = *std::move(result.elements);
  }
  return absl::OkStatus();
}

absl::Status InferTypes(Graph& graph, NodeId* senseless) {
  return VisitAll(graph, GraphInference::Declared::kMustFit, senseless);
}

absl::StatusOr<Graph> BindShapes(const Graph& graph,
                                 const std::map<std::string, std::vector<int64_t>>& shapes) {
  Graph bound = graph;
  Bindings bindings;
  std::set<std::string> used;
  for (ValueId input : bound.inputs) {
    Value& value = bound.value(input);
    const auto dims = shapes.find(value.name);
    if (dims == shapes.end()) continue;
    used.insert(value.name);
    QUOTIENT_RETURN_IF_ERROR(BindInput(value, dims->second, bindings));
  }
  for (const auto& [name, dims] : shapes) {
    if (!used.contains(name)) {
      return MakeError(Reason::kOptionInvalid, absl::StrCat("shape: no input '", name, "'"));
    }
  }
  for (Value& value : bound.values) Substitute(bindings, value.type);
  QUOTIENT_RETURN_IF_ERROR(VisitAll(bound, GraphInference::Declared::kMayBeStale, nullptr));
  return bound;
}

}  // namespace quotient::ops
