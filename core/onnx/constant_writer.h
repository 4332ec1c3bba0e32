#pragma once

// Writes the constants of a model: chooses their form and where their bytes go.

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "absl/container/flat_hash_set.h"
#include "absl/status/status.h"
#include "absl/strings/string_view.h"
#include "core/model/tensor.h"
#include "core/onnx/external_reference.h"
#include "core/onnx/proto.h"
#include "core/onnx/skeleton.h"
#include "core/onnx/value_names.h"
#include "core/onnx/writer.h"

namespace quotient::onnx {

class ConstantWriter {
 public:
  // Borrows all arguments. Constant nodes are appended to `graph` when constants are defined.
  // `prefers_initializers`: WriteOptions::constants_as_initializers.
  ConstantWriter(const Skeleton& skeleton, ValueNames& names, bool prefers_initializers,
                 GraphProto* graph);

  // Makes sure that the constant exists under this name. If the original has a constant of the same
  // name and content, it is written as it was: as an initializer with its doc string and metadata,
  // or as a Constant node.
  void Define(const std::string& name, const model::Tensor& tensor);

  // Makes sure that a parameter exists, and returns its name: `preferred` if the original has a
  // constant of this name and content, else a name made from `wanted`. Equal parameters share a
  // name.
  std::string DefineParameter(const model::Tensor& tensor, const std::string& preferred,
                              absl::string_view wanted);

  // Makes sure that an initializer of the original, given by its index, exists.
  void DefineOriginal(int initializer);
  // The same for initializers that model::Tensor cannot hold.
  void DefineSparse(const SparseTensorProto& sparse);
  void DefineOpaque(TensorProto proto);

  bool IsDefined(absl::string_view name) const { return defined_.contains(name); }

  // Appends the initializers, those of the original first and in their order, and decides where the
  // bytes of these and of all nested tensors of `model` go. Those that do not go into the model are
  // in `written`. Must be called last.
  absl::Status Finish(const WriteOptions& options, ModelProto* model, WrittenModel* written);

 private:
  struct Initializer {
    TensorProto proto;        // Without raw bytes if `bytes` is not empty.
    absl::string_view bytes;  // To be added to `proto`. Borrowed from tensors that outlive this.
    int original = -1;        // Index in the original, for the order; -1 if it is new.
    std::optional<model::Tensor> tensor;  // Has `bytes`, if they are those of a tensor.
  };
  // Returns where a weight is. The tensor has its bytes; null if none has.
  using Place = std::function<ExternalReference(absl::string_view bytes, const model::Tensor*)>;

  void AddInitializer(TensorProto proto, const model::Tensor& tensor, int original);
  void AddInitializer(TensorProto proto, absl::string_view bytes, int original);
  void AddConstantNode(const std::string& name, const model::Tensor& tensor);
  bool NeedsDataFile(const WriteOptions& options, const ModelProto& model) const;
  absl::Status ReferToWeights(const WriteOptions& options, ModelProto* model,
                              WrittenModel* written);
  absl::Status MoveToFile(const WriteOptions& options, ModelProto* model, WrittenModel* written);
  // Replaces the bytes of initializers that have at least `min_bytes`, and of nested tensors whose
  // bytes are in files of the original, by references.
  absl::Status MoveOut(int64_t min_bytes, const Place& place, ModelProto* model);

  const Skeleton& skeleton_;
  ValueNames& names_;
  // Before IR version 4 an initializer had to be an input as well, and inputs do not change.
  const bool may_add_initializers_;
  const bool prefers_initializers_;
  GraphProto* graph_;
  absl::flat_hash_set<std::string> defined_;
  std::vector<Initializer> initializers_;  // In order of definition.
  // New parameters: their tensors, which are kept alive, and their names by type and bytes.
  std::vector<model::Tensor> parameters_;
  absl::flat_hash_map<std::string, std::string> parameter_names_;
};

}  // namespace quotient::onnx
