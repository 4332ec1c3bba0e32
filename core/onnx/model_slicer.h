#pragma once

// ModelSlicer: some nodes of a model in a row, as a model of their own. Slices that run one after
// the other compute what the model computes, and between them only the values have to be kept that
// a later one reads.

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/functional/function_ref.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "core/model/shape.h"

namespace quotient::onnx {

struct ModelSlice {
  std::string bytes;
  // Values from elsewhere that its nodes read: inputs of the model, or computed by earlier nodes.
  std::vector<std::string> inputs;
  std::vector<std::string> initializers;  // That its nodes read.
  std::vector<std::string> computed;      // By its nodes.
};

class ModelSlicer {
 public:
  // `model` is one whose nodes are in an order in which they can run, as ONNX demands. The data of
  // its initializers should be in other files, since slices repeat it. Fails with INVALID_ARGUMENT
  // if the bytes are no model.
  static absl::StatusOr<ModelSlicer> Create(absl::string_view model);

  int num_nodes() const;

  // Returns the static type of a value that the model computes, or null.
  using TypeOf = absl::FunctionRef<const model::TensorType*(const std::string& name)>;

  // The nodes [first, first + count). All values that the slice names are outputs of it. NOT_FOUND,
  // naming the value, if it reads one that earlier nodes compute and that has no type.
  absl::StatusOr<ModelSlice> Slice(int first, int count, TypeOf type_of) const;

 private:
  struct Parts;
  explicit ModelSlicer(std::shared_ptr<const Parts> parts) : parts_(std::move(parts)) {}

  std::shared_ptr<const Parts> parts_;
};

}  // namespace quotient::onnx
