#pragma once

// Type inference over a whole graph, symbolic dimensions included.

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
  // What to do where a declared type contradicts the inferred one: refuse, or forget it.
  enum class Declared { kMustFit, kMayBeStale };

  explicit GraphInference(model::Graph& graph, Declared declared = Declared::kMustFit);

  // Puts the node into canonical form and sets its outputs' types. Opaque nodes are left alone but
  // for types that are certain (opaque_types.h). Errors name the node.
  absl::Status Visit(model::NodeId id);

  // What is known of the elements of a value that has been visited; null: nothing.
  const Elements* elements(model::ValueId id);

 private:
  std::vector<InferInput> InputsOf(const model::Node& node);
  absl::Status SetTypes(const model::Node& node, InferResult result);
  void SetOpaqueTypes(const model::Node& node);

  model::Graph& graph_;
  const Declared declared_;
  std::vector<bool> is_output_;                    // by value: an output of the graph
  std::vector<std::optional<Elements>> elements_;  // by value
};

// Sets the type of every value from the inputs' types, in topological order, and puts nodes whose
// parameters turn out constant (also by known elements: Shape of a static tensor, ...) into
// canonical form. A type that the model declares is refined, a contradiction is MODEL_SHAPE with
// the node's name. Values behind opaque nodes keep what is declared.
// `senseless`, if not null, gets the node that an error is about.
absl::Status InferTypes(model::Graph& graph, model::NodeId* senseless = nullptr);

// A copy whose inputs have these dims, types inferred anew; a declared inner type counts only as
// far as inference does not know better. `shapes`: input name -> dims. OPTION_INVALID for a name
// that is no input, a wrong rank, or a contradiction to a declared number; equal symbols must get
// equal numbers everywhere, and a symbol bound through one input is bound in all.
absl::StatusOr<model::Graph> BindShapes(const model::Graph& graph,
                                        const std::map<std::string, std::vector<int64_t>>& shapes);

}  // namespace quotient::ops
