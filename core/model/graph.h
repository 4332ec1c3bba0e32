#pragma once

// Graph: a model in memory, in SSA form. Every value has one producer, or none for inputs and
// constants. Nodes are in topological order. Nodes and values are identified by index; both vectors
// only grow while a graph is built.
//
// Operators are those of ONNX's default domain in one canonical form, whatever opset the model was
// written for (see core/ops/README.md): parameters such as axes or pads are attributes wherever
// they are constant. Everything else is an *opaque* node: it is written back byte for byte, its
// content is never examined, and no rewrite moves it.

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

// What type inference knows of one operand of an opaque node. Borrowed.
struct OpaqueOperand {
  const TensorType* type = nullptr;  // Null if the operand is left out.
  const Tensor* constant = nullptr;  // Null unless all elements are known.
  // The elements of a small integer tensor with one axis, as far as known; may have symbols. An
  // element that is not known, or negative, is an unknown dimension. Null if nothing is known.
  const Shape* elements = nullptr;
};

// Computes the types of an opaque node's outputs from its operands, which are parallel to the
// node's inputs. What is not certain for every input of the model must be unknown. Never fails;
// thread-safe.
using OpaqueTypesFn = std::function<std::vector<TensorType>(
    const Opaque& opaque, std::span<const OpaqueOperand> operands, size_t outputs)>;

// The content of an opaque node. Apart from its types only the writer uses it.
struct Opaque {
  enum class Kind { kNode, kInitializer, kSparseInitializer };
  Kind kind = Kind::kNode;
  std::string op;     // Operator with domain, for people: "com.acme.Foo", "LSTM".
  std::string proto;  // The serialized NodeProto, TensorProto or SparseTensorProto.
  // Inputs from this index on are not inputs of the NodeProto; its subgraphs capture them by name.
  // They must keep their names.
  int first_captured_input = 0;
  OpaqueTypesFn infer_types;  // Empty if the operands tell nothing.
};

struct Node {
  std::string name;
  std::string op;
  AttributeMap attributes;
  std::vector<ValueId> inputs;           // An invalid id: an optional input left out.
  std::vector<ValueId> outputs;          // An invalid id: an optional output left out.
  std::shared_ptr<const Opaque> opaque;  // Non-null exactly if op == kOpaqueOp.
  // The serialized NodeProto that the node was read from, for its doc string, metadata and unknown
  // fields. Empty for new nodes.
  std::string source;

  bool is_opaque() const { return opaque != nullptr; }
};

struct Value {
  std::string name;
  // Holds for every input of the model: declared for graph inputs, inferred from their types for
  // all other values. Rewrites rely on it.
  TensorType type;
  // The type that the file declares for a value that is not an input. It is often wrong, as in
  // exports whose inputs were made dynamic afterwards, so rewrites must not rely on it. It may
  // supply a number to measure with.
  TensorType declared;
  std::optional<Tensor> constant;  // Set for constants of the model.
  NodeId producer;                 // Invalid for inputs and constants.
  int output_index = 0;            // Among the producer's outputs.
};

struct Graph {
  std::string name;
  std::vector<Node> nodes;
  std::vector<Value> values;
  // Includes inputs that have an initializer as default; `defaults` has their defaults.
  std::vector<ValueId> inputs;
  std::vector<std::optional<Tensor>> defaults;  // Parallel to inputs.
  std::vector<ValueId> outputs;

  const Node& node(NodeId id) const { return nodes[id.value()]; }
  Node& node(NodeId id) { return nodes[id.value()]; }
  const Value& value(ValueId id) const { return values[id.value()]; }
  Value& value(ValueId id) { return values[id.value()]; }
  bool is_constant(ValueId id) const { return id.valid() && value(id).constant.has_value(); }

  // Appends a node. Its outputs must have been made by AddValue; they get the node as producer.
  NodeId AddNode(Node node);
  ValueId AddValue(absl::string_view name, TensorType type);
  ValueId AddInput(absl::string_view name, TensorType type);
  ValueId AddConstant(absl::string_view name, Tensor tensor);
  // Adds a node with one output, whose type is not known yet, and returns the output.
  ValueId AddOp(absl::string_view op, std::vector<ValueId> inputs, AttributeMap attributes = {},
                absl::string_view output_name = "");
};

// For each node whether an output of the graph depends on it.
std::vector<bool> LiveNodes(const Graph& graph);

// Whether the reference evaluator can run the node: it is not opaque, and all values that it reads
// and produces are computable. Other nodes cannot be checked.
bool IsComputable(const Graph& graph, const Node& node);

// A copy without dead nodes and without unused values. All inputs stay. Ids change.
Graph Compact(const Graph& graph);

// Checks the invariants of Graph: ids in range, SSA, topological order, unique value names,
// existing outputs, constants that match their types, opaque nodes with content. Fails with
// MODEL_MALFORMED or MODEL_CYCLIC, naming the node.
absl::Status Validate(const Graph& graph);

// A digest of structure, types, attributes, constants, and the names of inputs and outputs. Names
// of nodes and inner values do not count.
Digest GraphDigest(const Graph& graph);

}  // namespace quotient::model
