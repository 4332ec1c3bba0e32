#pragma once

// Type inference over a whole graph, including symbolic dimensions.
//
// Types follow from the inputs' types, which are a contract. The types that the file declares for
// other values (Value::declared) are often wrong, so only their element types are believed, which
// ONNX Runtime enforces. Every other dimension that inference cannot determine becomes a new
// symbol, different from all others.

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

// What measuring assumes for sizes that only a run can tell, such as the number of boxes that
// NonMaxSuppression selects.
inline constexpr int64_t kAssumedSize = 16;

// Infers node by node in topological order, and remembers the elements of small integer tensors
// between nodes. One thread. Borrows the graph; between two visits the graph may grow and nodes may
// be given other inputs.
class GraphInference {
 public:
  // What to do about a dimension or a rank of an opaque node's output that is not known. To measure
  // with, kAsDeclared takes the number that the file declares, if any, and kAssumed takes
  // kAssumedSize if there is none and the rank is known. What is not known of other nodes' outputs
  // stays unknown: it follows from the values of inputs, and random values would lead to other
  // numbers.
  enum class Unknown { kStays, kAsDeclared, kAssumed };

  explicit GraphInference(model::Graph& graph, Unknown unknown = Unknown::kStays);

  // Puts the node into canonical form and sets its outputs' types; for an opaque node only sets the
  // types. Combines them with the types that the outputs have already. Fails with MODEL_SHAPE,
  // naming the node, if types contradict each other or the declared element type differs.
  absl::Status Visit(model::NodeId id);

  // The elements of a visited value, as far as known; null if nothing is known.
  const Elements* elements(model::ValueId id);

  // Whether a declared or assumed number has been used for an unknown one.
  bool took_number() const { return took_number_; }

 private:
  std::vector<InferInput> InputsOf(const model::Node& node);
  absl::Status VisitKnown(model::Node& node);
  absl::Status VisitOpaque(const model::Node& node);
  absl::Status SetType(model::ValueId id, const model::TensorType& inferred, bool is_opaque);
  void TakeDeclared(model::Value& value);
  void TakeAssumed(model::Value& value);

  model::Graph& graph_;
  const Unknown unknown_;
  bool took_number_ = false;
  std::vector<std::optional<Elements>> elements_;  // By value.
};

// Sets the type of every value from the inputs' types, in topological order, and puts nodes into
// canonical form whose parameters turn out to be constant (also by known elements, as with Shape of
// a static tensor). Unknown dimensions of inputs become new symbols. Fails with MODEL_SHAPE, with
// the node's name, if types contradict each other; `senseless`, if not null, is then set to that
// node.
absl::Status InferTypes(model::Graph& graph, model::NodeId* senseless = nullptr);

// Warnings about values whose declared type contradicts the inferred one in its rank or in a
// number: at most `most` sentences, and one that counts the rest. ONNX Runtime runs such models and
// ignores the declaration.
std::vector<std::string> StaleDeclarations(const model::Graph& graph, size_t most = 5);

// The node's name, as errors of inference begin with it.
std::string NameOf(const model::Graph& graph, model::NodeId id);

// Dimensions by input name.
using InputShapes = std::map<std::string, std::vector<int64_t>>;

// Gives inputs these dimensions and infers all types anew. A symbol bound through one input is
// bound everywhere. Fails with OPTION_INVALID for an unknown name, a wrong rank, a contradiction to
// a declared number, or different numbers for one symbol; with MODEL_SHAPE if types contradict each
// other with these numbers.
absl::Status SetShapes(const InputShapes& shapes, model::Graph& graph);

// Returns a copy with these input dimensions, for measuring and checking. Like SetShapes, but
// unknown dimensions of the outputs of opaque nodes get the declared numbers, or else kAssumedSize,
// unless these lead to a contradiction.
absl::StatusOr<model::Graph> BindShapes(const model::Graph& graph, const InputShapes& shapes);

// The number of nodes, in order, before the first one at which BindShapes fails with these
// dimensions or which makes a tensor empty that need not be; all nodes if there is none. Fails like
// BindShapes if the dimensions do not fit the inputs.
absl::StatusOr<size_t> NodesThatFit(const model::Graph& graph, const InputShapes& shapes);

// The tensor of that type if all elements are known, otherwise nullopt.
std::optional<model::Tensor> TensorOf(const Elements& elements, const model::TensorType& type);

}  // namespace quotient::ops
