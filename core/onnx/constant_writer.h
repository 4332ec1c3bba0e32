#pragma once

// The constants of a written model: which there are, in which form, and where their bytes go.

#include <string>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "absl/container/flat_hash_set.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "core/model/tensor.h"
#include "core/onnx/data_file.h"
#include "core/onnx/proto.h"
#include "core/onnx/skeleton.h"
#include "core/onnx/value_names.h"
#include "core/onnx/writer.h"

namespace quotient::onnx {

class ConstantWriter {
 public:
  // All are borrowed. Constant nodes are appended to `graph` as constants are defined.
  ConstantWriter(const Skeleton& skeleton, ValueNames& names, GraphProto* graph);

  // Makes the constant exist under this name; once per name. What was an initializer of that name
  // and content comes out as it was (doc string, metadata), what was a Constant node is one again.
  void Define(const std::string& name, const model::Tensor& tensor);

  // Makes a parameter exist, under `preferred` if that is an original constant of this content,
  // else under a name made from `wanted`, which equal parameters share. Returns the name.
  std::string DefineParameter(const model::Tensor& tensor, const std::string& preferred,
                              absl::string_view wanted);

  // An initializer of the original, by index; once.
  void DefineOriginal(int initializer);
  // Those that model::Tensor cannot hold; once per name.
  void DefineSparse(const SparseTensorProto& sparse);
  void DefineOpaque(TensorProto proto);

  bool IsDefined(absl::string_view name) const { return defined_.contains(name); }

  // Appends the initializers, those of the original first and in their order, and decides where the
  // bytes of these and of all nested tensors of `model` go. Call last. Returns the external file.
  absl::StatusOr<std::string> Finish(const WriteOptions& options, ModelProto* model);

 private:
  struct Initializer {
    TensorProto proto;        // without raw bytes, if `bytes` are set
    absl::string_view bytes;  // to be added; borrowed from tensors that outlive this
    int original = -1;        // index in the original, for the order
  };

  void AddInitializer(TensorProto proto, absl::string_view bytes, int original);
  void AddConstantNode(const std::string& name, const model::Tensor& tensor);
  bool NeedsDataFile(const WriteOptions& options, const ModelProto& model) const;
  absl::Status MoveToFile(const WriteOptions& options, ModelProto* model, DataFile* file);

  const Skeleton& skeleton_;
  ValueNames& names_;
  GraphProto* graph_;
  absl::flat_hash_set<std::string> defined_;
  std::vector<Initializer> initializers_;  // in order of use
  // Parameters that were made new: their tensors, kept alive, and their names by type and bytes.
  std::vector<model::Tensor> parameters_;
  absl::flat_hash_map<std::string, std::string> parameter_names_;
};

}  // namespace quotient::onnx
