#pragma once

// Graph: a model between reading and writing. SSA: every value has one producer, or none (inputs
// and constants). Nodes stand in topological order. Nodes and values are named by index; both
// vectors only grow while a graph is built.
//
// Operators are those of ONNX's default domain in one canonical form, whatever opset the model came
// in (core/ops/README.md says what the form is): parameters such as axes or pads are attributes
// wherever they are constant. Everything else is an *opaque* node: it is written back byte for
// byte, never looked into, and no rewrite moves it.

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/string_view.h"
#include "core/base/digest.h"
#include "core/base/ids.h"
#include "core/model/attribute.h"
#include "core/model/shape.h"
#include "core/model/tensor.h"

namespace quotient::model {

using ValueId = StrongId<struct ValueIdTag>;
using NodeId = StrongId<struct NodeIdTag>;

// The operator name of opaque nodes.
inline constexpr char kOpaqueOp[] = "Opaque";

struct Opaque;

// What is known of one operand of an opaque node while types are inferred; borrowed.
struct OpaqueOperand {
  const TensorType* type = nullptr;  // null: the operand is left out
  const Tensor* constant = nullptr;  // null: its elements are not all known
  // The elements of a small integer tensor of one axis that are known up to symbols; an element
  // that is not known, or negative, is an unknown dimension. Null: nothing is known of them.
  const Shape* elements = nullptr;
};

// The types of an opaque node's outputs, one for each, from its operands, which are parallel to the
// node's inputs. Whatever is not certain for every input of the model is unknown. Never fails;
// thread-safe.
using OpaqueTypesFn = std::function<std::vector<TensorType>(
    const Opaque& opaque, std::span<const OpaqueOperand> operands, size_t outputs)>;

// What an opaque node is. Apart from its types only the writer looks into it.
struct Opaque {
  enum class Kind { kNode, kInitializer, kSparseInitializer };
  Kind kind = Kind::kNode;
  std::string op;     // operator with its domain, for people: "com.acme.Foo", "LSTM"
  std::string proto;  // the serialized NodeProto, TensorProto or SparseTensorProto
  // Inputs from here on are not inputs of the NodeProto: its subgraphs capture them by name. They
  // must keep their names.
  int first_captured_input = 0;
  OpaqueTypesFn infer_types;  // empty: nothing follows from the operands
};

struct Node {
  std::string name;
  std::string op;
  AttributeMap attributes;
  std::vector<ValueId> inputs;           // an invalid id: optional input left out
  std::vector<ValueId> outputs;          // an invalid id: optional output left out
  std::shared_ptr<const Opaque> opaque;  // non-null exactly if op == kOpaqueOp
  std::string source;  // serialized NodeProto it was read from, for doc string, metadata and fields
                       // we do not know; empty for nodes that we made

  bool is_opaque() const { return opaque != nullptr; }
};

struct Value {
  std::string name;
  // What holds for every input that the graph takes: of an input what it is declared as, of all
  // others what follows from the inputs' types. Rewrites rely on it.
  TensorType type;
  // What the file says of a value that is no input: a claim, which is often out of date (exports
  // whose inputs were made dynamic afterwards). Rewrites must not rely on it; it may stand in where
  // a number is needed to measure with.
  TensorType declared;
  std::optional<Tensor> constant;  // a constant of the model
  NodeId producer;                 // invalid: input or constant
  int output_index = 0;            // among the producer's outputs
};

struct Graph {
  std::string name;
  std::vector<Node> nodes;
  std::vector<Value> values;
  // Inputs that an initializer gives a default (overridable): the value is an input all the same,
  // and `defaults` holds the default.
  std::vector<ValueId> inputs;
  std::vector<std::optional<Tensor>> defaults;  // parallel to inputs
  std::vector<ValueId> outputs;

  const Node& node(NodeId id) const { return nodes[id.value()]; }
  Node& node(NodeId id) { return nodes[id.value()]; }
  const Value& value(ValueId id) const { return values[id.value()]; }
  Value& value(ValueId id) { return values[id.value()]; }
  bool is_constant(ValueId id) const { return id.valid() && value(id).constant.has_value(); }

  // Appends; outputs must have been made by AddValue and get this node as producer.
  NodeId AddNode(Node node);
  ValueId AddValue(absl::string_view name, TensorType type);
  ValueId AddInput(absl::string_view name, TensorType type);
  ValueId AddConstant(absl::string_view name, Tensor tensor);
  // A node with one output of a yet unknown type; returns the output.
  ValueId AddOp(absl::string_view op, std::vector<ValueId> inputs, AttributeMap attributes = {},
                absl::string_view output_name = "");

  std::optional<ValueId> FindValue(absl::string_view name) const;  // linear
};

// For each value the nodes that read it, each once, in order.
std::vector<std::vector<NodeId>> Consumers(const Graph& graph);

// For each node whether an output of the graph depends on it.
std::vector<bool> LiveNodes(const Graph& graph);

// Whether the reference evaluator can run the node: it is not opaque, and all that it reads and
// produces is computable. Where it cannot, nothing can be checked.
bool IsComputable(const Graph& graph, const Node& node);

// A copy without dead nodes and without values that nothing names; inputs all stay. Ids change.
Graph Compact(const Graph& graph);

// Checks what Graph promises: ids in range, SSA, topological order, no two values of one name,
// outputs exist, constants match their types, opaque nodes have their payload. MODEL_MALFORMED or
// MODEL_CYCLIC naming the node.
absl::Status Validate(const Graph& graph);

// Digest of structure, types, attributes and constants; names of nodes and inner values do not
// count, those of inputs and outputs do.
Digest GraphDigest(const Graph& graph);

}  // namespace quotient::model
