#pragma once

// The names that the values of an optimized graph get in the written model. Some are fixed: inputs,
// outputs, what subgraphs of opaque nodes capture. One value may need several of them; it is given
// one, the others are made by Identity. All further values keep their name where it is free.

#include <string>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "absl/container/flat_hash_set.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "core/model/graph.h"
#include "core/onnx/names.h"
#include "core/onnx/skeleton.h"

namespace quotient::onnx {

class ValueNames {
 public:
  // INTERNAL if the graph's interface is not that of the model, or if a fixed name would belong to
  // two values.
  static absl::StatusOr<ValueNames> Assign(const model::Graph& graph, const Skeleton& skeleton);

  const std::string& Of(model::ValueId id) const { return names_[id.value()]; }
  // Further names the value must be known by.
  const std::vector<std::string>& Aliases(model::ValueId id) const { return aliases_[id.value()]; }
  // The value that has (or is known by) this name; invalid if none is.
  model::ValueId Holder(absl::string_view name) const;
  // Whether a constant of this content may be written under that name.
  bool MayName(absl::string_view name, const model::Tensor& tensor) const;
  // A name that no value has, here or in the original.
  std::string Fresh(absl::string_view wanted) { return pool_.Fresh(wanted); }

 private:
  ValueNames(const model::Graph& graph, const Skeleton& skeleton);

  absl::Status AssignInputs();
  void AssignConstants();
  absl::Status AssignOutputs();
  absl::Status AssignCaptured();
  void AssignRest();
  absl::Status Fix(model::ValueId id, const std::string& name, bool may_be_renamed);
  void Give(model::ValueId id, const std::string& name);

  const model::Graph* graph_;
  const Skeleton* skeleton_;
  std::vector<std::string> names_;                 // by value; empty: not named yet
  std::vector<std::vector<std::string>> aliases_;  // by value
  absl::flat_hash_map<std::string, model::ValueId> holders_;
  absl::flat_hash_set<std::string> original_names_;  // of the main graph's values
  absl::flat_hash_set<std::string> reserved_;        // of things that are written in any case
  NamePool pool_;
};

// Whether the constant of that name in the original has this content.
bool IsOriginalConstant(const Skeleton& skeleton, absl::string_view name,
                        const model::Tensor& tensor);

}  // namespace quotient::onnx
