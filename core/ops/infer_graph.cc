#include "core/ops/infer_graph.h"

#include <algorithm>
#include <set>
#include <utility>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "core/base/digest.h"
#include "core/base/log.h"
#include "core/base/reason.h"
#include "core/base/status_macros.h"
#include "core/ops/support.h"

namespace quotient::ops {
namespace {

using model::Dim;
using model::DType;
using model::Graph;
using model::Node;
using model::NodeId;
using model::Shape;
using model::Tensor;
using model::TensorType;
using model::Value;
using model::ValueId;

std::string NameOf(const Graph& graph, const Node& node) {
  const std::string& op = node.is_opaque() ? node.opaque->op : node.op;
  if (!node.name.empty()) return absl::StrCat(op, " node '", node.name, "'");
  for (ValueId output : node.outputs) {
    if (output.valid()) return absl::StrCat(op, " node of '", graph.value(output).name, "'");
  }
  return absl::StrCat(op, " node");
}

// --- Unknown dimensions ---

// A symbol for an unknown dimension, named after the value that has it. All values with this
// dimension copy the symbol, so a long name is replaced by its digest; so is a name with a comma or
// a parenthesis, which have a meaning in the symbols of dims.h. (So have + and *, but names with
// those stand in parentheses there.)
Dim OwnSymbol(absl::string_view owner, size_t axis) {
  constexpr size_t kLongestName = 40;  // Shorter than a digest, so that no name looks like one.
  const bool is_plain = owner.size() <= kLongestName && owner.find_first_of(",()") == owner.npos;
  const std::string name = is_plain ? std::string(owner) : Digest::Of(owner).Hex();
  return Dim::Symbol(absl::StrCat(model::kInferredSymbol, name, ".", axis));
}

void NameUnknownDims(Value& value) {
  if (!value.type.has_rank()) return;
  for (size_t axis = 0; axis < value.type.shape->size(); ++axis) {
    Dim& dim = (*value.type.shape)[axis];
    if (dim.is_unknown()) dim = OwnSymbol(value.name, axis);
  }
}

// --- Binding ---

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
  if (!value.type.has_rank()) {
    if (value.type.dtype == DType::kUndefined) {
      return MakeError(Reason::kOptionInvalid,
                       absl::StrCat("shape: input '", value.name, "' cannot have one: it is not a ",
                                    "tensor (but a sequence, an optional value or a map), or its "
                                    "element type is not known"));
    }
    value.type.shape = Shape(dims.size());
  }
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

absl::Status BindInputs(const InputShapes& shapes, Graph& graph) {
  Bindings bindings;
  std::set<std::string> used;
  for (ValueId input : graph.inputs) {
    Value& value = graph.value(input);
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
  for (Value& value : graph.values) {
    Substitute(bindings, value.type);
    Substitute(bindings, value.declared);
  }
  return absl::OkStatus();
}

// The result of visiting all nodes, or those before the first for which `accept` is false.
struct Visited {
  absl::Status status;
  size_t nodes = 0;  // Number of nodes visited without an error.
  bool took_number = false;
};

template <typename Accept>
Visited VisitWhile(Graph& graph, GraphInference::Unknown unknown, const Accept& accept) {
  for (ValueId input : graph.inputs) NameUnknownDims(graph.value(input));
  GraphInference inference(graph, unknown);
  Visited visited;
  for (uint32_t i = 0; i < graph.nodes.size(); ++i) {
    visited.status = inference.Visit(NodeId(i));
    if (!visited.status.ok() || !accept(graph.nodes[i])) break;
    ++visited.nodes;
  }
  visited.took_number = inference.took_number();
  return visited;
}

Visited VisitAll(Graph& graph, GraphInference::Unknown unknown) {
  return VisitWhile(graph, unknown, [](const Node&) { return true; });
}

// Whether a dimension is 0 that is not always 0 in `general`.
bool IsEmptied(const TensorType& bound, const TensorType& general) {
  if (!bound.has_rank()) return false;
  for (int axis = 0; axis < bound.rank(); ++axis) {
    const bool always =
        general.has_rank() && general.rank() == bound.rank() && general.dim(axis).Is(0);
    if (bound.dim(axis).Is(0) && !always) return true;
  }
  return false;
}

// The ways to infer types for measuring, in the order in which they are tried.
constexpr GraphInference::Unknown kFromMostKnown[] = {GraphInference::Unknown::kAssumed,
                                                      GraphInference::Unknown::kAsDeclared,
                                                      GraphInference::Unknown::kStays};

// --- Declared types ---

// Whether both are known and differ in rank or in a number.
bool Contradicts(const TensorType& declared, const TensorType& inferred) {
  if (!declared.has_rank() || !inferred.has_rank()) return false;
  TensorType same_dtype = declared;
  same_dtype.dtype = inferred.dtype;
  return !model::Compatible(same_dtype, inferred);
}

}  // namespace

GraphInference::GraphInference(Graph& graph, Unknown unknown) : graph_(graph), unknown_(unknown) {}

const Elements* GraphInference::elements(ValueId id) {
  if (elements_.size() <= id.value()) elements_.resize(graph_.values.size());
  std::optional<Elements>& known = elements_[id.value()];
  const Value& value = graph_.value(id);
  if (!known.has_value() && value.constant.has_value()) known = ElementsOf(*value.constant);
  return known.has_value() ? &*known : nullptr;
}

std::vector<InferInput> GraphInference::InputsOf(const Node& node) {
  elements_.resize(graph_.values.size());  // Resized here so that pointers into it stay valid.
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
  return Annotate(node.is_opaque() ? VisitOpaque(node) : VisitKnown(node), NameOf(graph_, node));
}

absl::Status GraphInference::VisitKnown(Node& node) {
  QUOTIENT_RETURN_IF_ERROR(Canonicalize(node, InputsOf(node)));
  const std::vector<InferInput> inputs = InputsOf(node);
  const InferContext context{node.attributes, inputs, static_cast<int>(node.outputs.size())};
  QUOTIENT_ASSIGN_OR_RETURN(InferResult result, InferNode(*FindOp(node.op), context));
  for (size_t i = 0; i < node.outputs.size(); ++i) {
    if (node.outputs[i].valid()) {
      QUOTIENT_RETURN_IF_ERROR(SetType(node.outputs[i], result.types[i], /*is_opaque=*/false));
    }
  }
  if (result.elements.has_value() && node.outputs[0].valid()) {
    elements_[node.outputs[0].value()] = *std::move(result.elements);
  }
  return absl::OkStatus();
}

absl::Status GraphInference::VisitOpaque(const Node& node) {
  std::vector<TensorType> types(node.outputs.size());
  if (node.opaque->infer_types) {
    const std::vector<InferInput> inputs = InputsOf(node);
    std::vector<model::OpaqueOperand> operands(inputs.size());
    std::vector<std::optional<Tensor>> constants(inputs.size());
    std::vector<Shape> elements(inputs.size());
    for (size_t i = 0; i < inputs.size(); ++i) {
      operands[i] = {.type = inputs[i].type, .constant = inputs[i].constant};
      if (inputs[i].elements == nullptr || operands[i].constant != nullptr) continue;
      constants[i] = TensorOf(*inputs[i].elements, *inputs[i].type);
      if (constants[i].has_value()) operands[i].constant = &*constants[i];
      elements[i] = AsShape(*inputs[i].elements);
      if (inputs[i].type->rank() == 1) operands[i].elements = &elements[i];
    }
    types = node.opaque->infer_types(*node.opaque, operands, node.outputs.size());
  }
  for (size_t i = 0; i < node.outputs.size(); ++i) {
    if (node.outputs[i].valid()) {
      QUOTIENT_RETURN_IF_ERROR(SetType(node.outputs[i], types[i], /*is_opaque=*/true));
    }
  }
  return absl::OkStatus();
}

absl::Status GraphInference::SetType(ValueId id, const TensorType& inferred, bool is_opaque) {
  Value& value = graph_.value(id);
  if (!model::Compatible(inferred, value.type)) {
    return MakeError(Reason::kModelShape,
                     absl::StrCat("output '", value.name, "' is ", model::ToString(inferred),
                                  ", but must be ", model::ToString(value.type)));
  }
  value.type = model::Refine(inferred, value.type);
  const DType declared = value.declared.dtype;
  if (value.type.dtype == DType::kUndefined) value.type.dtype = declared;
  if (declared != DType::kUndefined && declared != value.type.dtype) {
    return MakeError(Reason::kModelShape, absl::StrCat("output '", value.name, "' is declared as ",
                                                       model::ToString(value.declared), ", but is ",
                                                       model::ToString(value.type)));
  }
  if (is_opaque && unknown_ != Unknown::kStays) TakeDeclared(value);
  if (is_opaque && unknown_ == Unknown::kAssumed) TakeAssumed(value);
  NameUnknownDims(value);
  return absl::OkStatus();
}

void GraphInference::TakeDeclared(Value& value) {
  const TensorType& declared = value.declared;
  if (!declared.has_rank() || Contradicts(declared, value.type)) return;
  if (!value.type.has_rank()) {
    value.type.shape = Shape(declared.shape->size());
    took_number_ = true;
  }
  for (int axis = 0; axis < declared.rank(); ++axis) {
    Dim& dim = (*value.type.shape)[axis];
    if (dim.is_number() || !declared.dim(axis).is_number()) continue;
    dim = declared.dim(axis);
    took_number_ = true;
  }
}

void GraphInference::TakeAssumed(Value& value) {
  if (!value.type.has_rank()) return;
  for (Dim& dim : *value.type.shape) {
    // A name is that of an input's size, which is not known here but is not free either.
    const bool has_name =
        dim.is_symbol() && !absl::StartsWith(dim.symbol(), model::kInferredSymbol);
    if (dim.is_number() || has_name) continue;
    dim = kAssumedSize;
    took_number_ = true;
  }
}

absl::Status InferTypes(Graph& graph, NodeId* senseless) {
  const Visited visited = VisitAll(graph, GraphInference::Unknown::kStays);
  if (!visited.status.ok() && senseless != nullptr) {
    *senseless = NodeId(static_cast<uint32_t>(visited.nodes));
  }
  return visited.status;
}

std::string NameOf(const Graph& graph, NodeId id) { return NameOf(graph, graph.node(id)); }

std::vector<std::string> StaleDeclarations(const Graph& graph, size_t most) {
  std::vector<std::string> sentences;
  size_t count = 0;
  for (const Value& value : graph.values) {
    if (!value.producer.valid() || !Contradicts(value.declared, value.type)) continue;
    if (++count > most) continue;
    sentences.push_back(absl::StrCat("value '", Escaped(value.name), "' is declared as ",
                                     model::ToString(value.declared), ", but is ",
                                     model::ToString(value.type), ", which is what counts"));
  }
  if (count > most) {
    sentences.push_back(
        absl::StrCat(count - most, " more values are declared as what they are not"));
  }
  return sentences;
}

absl::Status SetShapes(const InputShapes& shapes, Graph& graph) {
  QUOTIENT_RETURN_IF_ERROR(BindInputs(shapes, graph));
  return InferTypes(graph);
}

absl::StatusOr<Graph> BindShapes(const Graph& graph, const InputShapes& shapes) {
  for (const GraphInference::Unknown unknown : kFromMostKnown) {
    Graph bound = graph;
    QUOTIENT_RETURN_IF_ERROR(BindInputs(shapes, bound));
    const Visited visited = VisitAll(bound, unknown);
    if (visited.status.ok()) return bound;
    // If no number was taken, the others lead to the same error.
    if (!visited.took_number) return visited.status;
  }
  return absl::InternalError("an unknown number was taken where all stay unknown");
}

absl::StatusOr<size_t> NodesThatFit(const Graph& graph, const InputShapes& shapes) {
  size_t most = 0;
  for (const GraphInference::Unknown unknown : kFromMostKnown) {
    Graph bound = graph;
    QUOTIENT_RETURN_IF_ERROR(BindInputs(shapes, bound));
    const auto keeps_elements = [&](const Node& node) {
      return std::none_of(node.outputs.begin(), node.outputs.end(), [&](ValueId id) {
        return id.valid() && IsEmptied(bound.value(id).type, graph.value(id).type);
      });
    };
    const Visited visited = VisitWhile(bound, unknown, keeps_elements);
    most = std::max(most, visited.nodes);
    if (!visited.took_number) break;
  }
  return most;
}

std::optional<Tensor> TensorOf(const Elements& elements, const TensorType& type) {
  if (!type.is_static() || type.elements() != static_cast<int64_t>(elements.size())) {
    return std::nullopt;
  }
  const std::optional<model::Ints> numbers = AllNumbers(elements);
  if (!numbers.has_value()) return std::nullopt;
  std::span<std::byte> bytes;
  Tensor tensor = Tensor::Allocate(type.dtype, type.dims(), &bytes);
  model::Store(type.dtype, bytes, 0, std::span<const int64_t>(*numbers));
  return tensor;
}

}  // namespace quotient::ops
