#pragma once

// Chooses the names of the values of an optimized graph in the written model. The names of inputs,
// outputs and values that subgraphs of opaque nodes capture are fixed. If a value needs several
// fixed names it gets one of them, and Identity nodes provide the others. All other values keep
// their name if it is free.

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
  // Fails with INTERNAL if the graph's interface differs from that of the model, or if a fixed name
  // would belong to two values.
  static absl::StatusOr<ValueNames> Assign(const model::Graph& graph, const Skeleton& skeleton);

  const std::string& Of(model::ValueId id) const { return names_[id.value()]; }
  // The further names that the value must have.
  const std::vector<std::string>& Aliases(model::ValueId id) const { return aliases_[id.value()]; }
  // The value that has this name, or has it as an alias. Invalid if there is none.
  model::ValueId Holder(absl::string_view name) const;
  // Whether a constant with this content may be written under this name.
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
  std::vector<std::string> names_;                 // By value; empty if not named yet.
  std::vector<std::vector<std::string>> aliases_;  // By value.
  absl::flat_hash_map<std::string, model::ValueId> holders_;
  // Names of values in the original's main graph.
  absl::flat_hash_set<std::string> original_names_;
  // Names of inputs and outputs, which are always written.
  absl::flat_hash_set<std::string> reserved_;
  NamePool pool_;
};

// Whether the original has a constant with this name and content.
bool IsOriginalConstant(const Skeleton& skeleton, absl::string_view name,
                        const model::Tensor& tensor);

}  // namespace quotient::onnx
