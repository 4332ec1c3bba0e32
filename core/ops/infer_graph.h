#pragma once

// Type inference over a whole graph, symbolic dimensions included.
//
// Types follow from the inputs' types, which are a contract. What the file declares of other values
// (Value::declared) is a claim that is often out of date: it is believed in its element type alone,
// which ONNX Runtime enforces. Every other dimension that inference does not know is a symbol of
// its own, equal to no other one.

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "core/model/graph.h"
#include "core/ops/op.h"

namespace quotient::ops {

// Infers node by node, in topological order, and remembers the elements of small integer tensors
// between nodes. One thread; borrows the graph, which may grow and whose inputs' uses may be
// redirected between two visits.
class GraphInference {
 public:
  // What stands for a dimension or a rank that does not follow from the inputs: itself, or the
  // number that the file declares, if any, which is good enough to measure with.
  enum class Unknown { kStays, kAsDeclared };

  explicit GraphInference(model::Graph& graph, Unknown unknown = Unknown::kStays);

  // Puts the node into canonical form and sets its outputs' types; of opaque nodes the types alone.
  // A type that an output has already is kept as far as it says more. MODEL_SHAPE, naming the node,
  // if types contradict each other or the declared element type is another one.
  absl::Status Visit(model::NodeId id);

  // What is known of the elements of a value that has been visited; null: nothing.
  const Elements* elements(model::ValueId id);

  // Whether a declared number has been taken for one that was not known.
  bool took_declared() const { return took_declared_; }

 private:
  std::vector<InferInput> InputsOf(const model::Node& node);
  absl::Status VisitKnown(model::Node& node);
  absl::Status VisitOpaque(const model::Node& node);
  absl::Status SetType(model::ValueId id, const model::TensorType& inferred);
  void TakeDeclared(model::Value& value);

  model::Graph& graph_;
  const Unknown unknown_;
  bool took_declared_ = false;
  std::vector<std::optional<Elements>> elements_;  // by value
};

// Sets the type of every value from the inputs' types, in topological order, and puts nodes whose
// parameters turn out constant (also by known elements: Shape of a static tensor, ...) into
// canonical form. Dimensions of inputs that have neither number nor symbol get symbols of their
// own. MODEL_SHAPE with the node's name where types contradict each other; `senseless`, if not
// null, gets that node.
absl::Status InferTypes(model::Graph& graph, model::NodeId* senseless = nullptr);

// Sentences, at most `most` and one that counts the rest, on values whose declared type contradicts
// what was inferred: in its rank or a number. ONNX Runtime runs such models and believes neither.
std::vector<std::string> StaleDeclarations(const model::Graph& graph, size_t most = 5);

// Dims by the names of inputs.
using InputShapes = std::map<std::string, std::vector<int64_t>>;

// Gives inputs these dims and infers all types anew. OPTION_INVALID for a name that is no input, a
// wrong rank, or a contradiction to a declared number; equal symbols must get equal numbers
// everywhere, and a symbol bound through one input is bound in all. MODEL_SHAPE if the graph makes
// no sense with these numbers.
absl::Status SetShapes(const InputShapes& shapes, model::Graph& graph);

// A copy to measure and to check with, the inputs having these dims. As SetShapes, but for what
// stays unknown: that is as declared, unless what is declared contradicts what is known.
absl::StatusOr<model::Graph> BindShapes(const model::Graph& graph, const InputShapes& shapes);

// How far BindShapes comes: the number of nodes, in their order, before the first one that refuses
// these dims, or that makes an empty tensor of one that need not be empty; all nodes if there is
// none. The same errors as BindShapes if the dims do not even fit the inputs.
absl::StatusOr<size_t> NodesThatFit(const model::Graph& graph, const InputShapes& shapes);

// The tensor of that type whose elements are all known; nothing if one is not.
std::optional<model::Tensor> TensorOf(const Elements& elements, const model::TensorType& type);

}  // namespace quotient::ops
