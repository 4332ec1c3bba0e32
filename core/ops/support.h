#pragma once

// What the operator families share: access to an InferContext, and loops over tensors.

#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "core/base/reason.h"
#include "core/model/attribute.h"
#include "core/model/shape.h"
#include "core/model/tensor.h"
#include "core/ops/op.h"

namespace quotient::ops {

// --- Errors ---

// MODEL_SHAPE; the caller adds the node's name.
template <typename... Parts>
absl::Status ShapeError(const Parts&... parts) {
  return MakeError(Reason::kModelShape, absl::StrCat(parts...));
}

// --- Inference ---

// Input `index` of a node; an input left out if there are fewer.
inline InferInput InputAt(std::span<const InferInput> inputs, size_t index) {
  return index < inputs.size() ? inputs[index] : InferInput{};
}
// Whether the input is present. Its type may still be unknown.
inline bool HasInput(const InferContext& context, size_t index) {
  return InputAt(context.inputs, index).type != nullptr;
}
// kUndefined if unknown or left out.
model::DType DTypeAt(const InferContext& context, size_t index);
// Null if unknown or left out.
const model::Shape* ShapeAt(const InferContext& context, size_t index);
const Elements* ElementsAt(const InferContext& context, size_t index);

// The rank of the shape that input `index` requests, which is the length of that input; nullopt if
// not known.
std::optional<int64_t> TargetRank(const InferContext& context, size_t index);

// A result with one output.
InferResult OneOutput(model::TensorType type);
// One output of this element type whose shape is not known.
InferResult UnknownShape(model::DType dtype);

// The common element type of the inputs [begin, end), ignoring unknown ones; kUndefined if none is
// known. Fails with MODEL_SHAPE if they differ.
absl::StatusOr<model::DType> CommonDType(const InferContext& context, size_t begin, size_t end);
// The broadcast shape of all inputs that are present; nullopt if a rank is unknown.
absl::StatusOr<std::optional<model::Shape>> BroadcastInputs(std::span<const InferInput> inputs);

// The axis in [0, rank). Fails with MODEL_SHAPE if it is not in [-rank, rank).
absl::StatusOr<int64_t> NormalizeAxis(int64_t axis, int64_t rank);
// All axes in [0, rank), sorted. Also fails with MODEL_SHAPE if one occurs twice.
absl::StatusOr<model::Ints> NormalizeAxes(const model::Ints& axes, int64_t rank);

// --- Elements ---

// The elements of an element-wise operator's output of this type from those of its two inputs, with
// broadcasting. Returns nullopt unless both inputs' elements are known and the type is static and
// small.
std::optional<Elements> ZipElements(const InferContext& context, const model::TensorType& type,
                                    Element (*combine)(const Element& a, const Element& b));

// Whether a type is static with at most `count` elements.
bool IsSmall(const model::TensorType& type, int64_t count = kMaxElements);

// The numbers of all elements; nullopt if one is not a number.
std::optional<model::Ints> AllNumbers(const Elements& elements);
model::Shape AsShape(const Elements& elements);

// --- Evaluation ---

// Bytes per element; 0 for types that do not take whole bytes.
int ElementBytes(model::DType dtype);

// The distance of neighbours along each axis, in elements, in a packed row-major tensor.
std::vector<int64_t> RowMajorStrides(std::span<const int64_t> dims);

// The same after broadcasting to `to`, which has at least as many dimensions: 0 along broadcast
// axes.
std::vector<int64_t> BroadcastStrides(std::span<const int64_t> dims, std::span<const int64_t> to);

// Number of elements. Dimensions come from static types, so this does not overflow.
int64_t Count(std::span<const int64_t> dims);

// Iterates over the indices of a box in row-major order.
//
//   for (BoxIndex i(dims); i.valid(); i.Next()) Use(i[0], i[1]);
class BoxIndex {
 public:
  explicit BoxIndex(std::span<const int64_t> dims)
      : dims_(dims.begin(), dims.end()), index_(dims.size(), 0), valid_(Count(dims) > 0) {}
  // Starts at a row-major position.
  BoxIndex(std::span<const int64_t> dims, int64_t position);

  bool valid() const { return valid_; }
  void Next();
  int64_t operator[](size_t axis) const { return index_[axis]; }
  const std::vector<int64_t>& index() const { return index_; }
  // The sum of index times stride.
  int64_t Offset(std::span<const int64_t> strides) const;

 private:
  std::vector<int64_t> dims_;
  std::vector<int64_t> index_;
  bool valid_;
};

// Reads ranges of row-major positions of a tensor as if it were broadcast to `dims`.
class BroadcastReader {
 public:
  // The tensor must outlive the reader and be broadcastable to `dims`.
  BroadcastReader(const model::Tensor& tensor, std::span<const int64_t> dims);

  void Load(int64_t begin, std::span<double> out) const { LoadAs(begin, out); }
  void Load(int64_t begin, std::span<int64_t> out) const { LoadAs(begin, out); }

 private:
  template <typename T>
  void LoadAs(int64_t begin, std::span<T> out) const;

  const model::Tensor& tensor_;
  // Neighbouring axes with one common stride are joined; broadcast axes have stride 0.
  std::vector<int64_t> dims_;
  std::vector<int64_t> strides_;
};

// Computes a chunk of the output from chunks of the broadcast operands.
template <typename T>
using ChunkFn = std::function<void(std::span<const std::span<const T>> operands, std::span<T> out)>;

// Applies an element-wise operator to all inputs, which must be present. T is the type of the
// arithmetic: double for floats, int64_t for integers and bool (exact).
template <typename T>
model::Tensor EvaluateElementwise(std::span<const model::Tensor* const> inputs,
                                  const model::TensorType& output, int threads,
                                  const ChunkFn<T>& compute);

// A new tensor of a static type, to be written before it is shared.
struct NewTensor {
  explicit NewTensor(const model::TensorType& type)
      : tensor(model::Tensor::Allocate(type.dtype, type.dims(), &bytes)) {}
  std::span<std::byte> bytes;  // Must precede `tensor`: Allocate sets it.
  model::Tensor tensor;
};

}  // namespace quotient::ops
