#include "core/ops/support.h"

#include <algorithm>

#include "absl/strings/match.h"
#include "core/base/checked.h"
#include "core/base/parallel.h"
#include "core/base/status_macros.h"
#include "core/ops/dims.h"

namespace quotient::ops {

using model::Dim;
using model::DType;
using model::Ints;
using model::Shape;
using model::Tensor;
using model::TensorType;

DType DTypeAt(const InferContext& context, size_t index) {
  const TensorType* type = InputAt(context.inputs, index).type;
  return type == nullptr ? DType::kUndefined : type->dtype;
}

const Shape* ShapeAt(const InferContext& context, size_t index) {
  const TensorType* type = InputAt(context.inputs, index).type;
  return type == nullptr || !type->has_rank() ? nullptr : &*type->shape;
}

const Elements* ElementsAt(const InferContext& context, size_t index) {
  return InputAt(context.inputs, index).elements;
}

std::optional<int64_t> TargetRank(const InferContext& context, size_t index) {
  const Shape* shape = ShapeAt(context, index);
  if (shape == nullptr || shape->size() != 1 || !(*shape)[0].is_number() ||
      (*shape)[0].number() > kMaxElements) {
    return std::nullopt;
  }
  return (*shape)[0].number();
}

InferResult OneOutput(TensorType type) {
  InferResult result;
  result.types.push_back(std::move(type));
  return result;
}

InferResult UnknownShape(DType dtype) {
  TensorType type;
  type.dtype = dtype;
  return OneOutput(std::move(type));
}

absl::StatusOr<DType> CommonDType(const InferContext& context, size_t begin, size_t end) {
  DType common = DType::kUndefined;
  for (size_t i = begin; i < end; ++i) {
    const DType dtype = DTypeAt(context, i);
    if (dtype == DType::kUndefined) continue;
    if (common != DType::kUndefined && dtype != common) {
      return ShapeError("inputs of types ", model::DTypeName(common), " and ",
                        model::DTypeName(dtype), ", which should be one");
    }
    common = dtype;
  }
  return common;
}

absl::StatusOr<std::optional<Shape>> BroadcastInputs(std::span<const InferInput> inputs) {
  Shape shape;
  for (const InferInput& input : inputs) {
    if (input.type == nullptr) continue;
    if (!input.type->has_rank()) return std::nullopt;
    QUOTIENT_ASSIGN_OR_RETURN(shape, BroadcastShapes(shape, *input.type->shape));
  }
  return shape;
}

absl::StatusOr<int64_t> NormalizeAxis(int64_t axis, int64_t rank) {
  if (axis < -rank || axis >= rank) {
    return ShapeError("axis ", axis, " is outside of a tensor of rank ", rank);
  }
  return axis < 0 ? axis + rank : axis;
}

absl::StatusOr<Ints> NormalizeAxes(const Ints& axes, int64_t rank) {
  Ints result;
  for (int64_t axis : axes) {
    QUOTIENT_ASSIGN_OR_RETURN(axis, NormalizeAxis(axis, rank));
    result.push_back(axis);
  }
  std::sort(result.begin(), result.end());
  const auto twice = std::adjacent_find(result.begin(), result.end());
  if (twice != result.end()) return ShapeError("axis ", *twice, " is given twice");
  return result;
}

std::optional<Elements> ZipElements(const InferContext& context, const TensorType& type,
                                    Element (*combine)(const Element& a, const Element& b)) {
  const Elements* a = ElementsAt(context, 0);
  const Elements* b = ElementsAt(context, 1);
  if (a == nullptr || b == nullptr || !IsSmall(type)) return std::nullopt;
  // Elements are known only for tensors of static type.
  const std::vector<int64_t> dims = type.dims();
  const std::vector<int64_t> strides_a = BroadcastStrides(context.inputs[0].type->dims(), dims);
  const std::vector<int64_t> strides_b = BroadcastStrides(context.inputs[1].type->dims(), dims);
  Elements result;
  for (BoxIndex i(dims); i.valid(); i.Next()) {
    result.push_back(combine((*a)[i.Offset(strides_a)], (*b)[i.Offset(strides_b)]));
  }
  return result;
}

bool IsSmall(const TensorType& type, int64_t count) {
  if (!type.is_static()) return false;
  const std::optional<int64_t> elements = CheckedProduct(type.dims());
  return elements.has_value() && *elements <= count;
}

std::optional<Ints> AllNumbers(const Elements& elements) {
  Ints numbers;
  for (const Element& element : elements) {
    if (!element.is_number()) return std::nullopt;
    numbers.push_back(element.number());
  }
  return numbers;
}

Shape AsShape(const Elements& elements) {
  Shape shape;
  for (const Element& element : elements) shape.push_back(element.AsDim());
  return shape;
}

int ElementBytes(DType dtype) {
  const int bits = model::DTypeBits(dtype);
  return bits % 8 == 0 ? bits / 8 : 0;
}

std::vector<int64_t> RowMajorStrides(std::span<const int64_t> dims) {
  std::vector<int64_t> strides(dims.size(), 1);
  for (size_t i = dims.size(); i-- > 1;) {
    // A tensor without elements may have dimensions whose product overflows; its strides are not
    // used.
    if (__builtin_mul_overflow(strides[i], dims[i], &strides[i - 1])) strides[i - 1] = 0;
  }
  return strides;
}

std::vector<int64_t> BroadcastStrides(std::span<const int64_t> dims, std::span<const int64_t> to) {
  const std::vector<int64_t> packed = RowMajorStrides(dims);
  const size_t missing = to.size() - dims.size();
  std::vector<int64_t> strides(to.size(), 0);
  for (size_t i = 0; i < dims.size(); ++i) strides[missing + i] = dims[i] == 1 ? 0 : packed[i];
  return strides;
}

int64_t Count(std::span<const int64_t> dims) { return CheckedProduct(dims).value_or(0); }

BoxIndex::BoxIndex(std::span<const int64_t> dims, int64_t position) : BoxIndex(dims) {
  valid_ = position < Count(dims);
  for (size_t i = valid_ ? dims_.size() : 0; i-- > 0;) {
    index_[i] = position % dims_[i];
    position /= dims_[i];
  }
}

void BoxIndex::Next() {
  for (size_t i = dims_.size(); i-- > 0;) {
    if (++index_[i] < dims_[i]) return;
    index_[i] = 0;
  }
  valid_ = false;
}

int64_t BoxIndex::Offset(std::span<const int64_t> strides) const {
  int64_t offset = 0;
  for (size_t i = 0; i < index_.size(); ++i) offset += index_[i] * strides[i];
  return offset;
}

BroadcastReader::BroadcastReader(const Tensor& tensor, std::span<const int64_t> dims)
    : tensor_(tensor) {
  const std::vector<int64_t> strides = BroadcastStrides(tensor.dims(), dims);
  for (size_t i = 0; i < dims.size(); ++i) {
    if (dims[i] == 1) continue;
    const int64_t stride = strides[i];
    if (!dims_.empty() && strides_.back() == stride * dims[i]) {
      dims_.back() *= dims[i];
      strides_.back() = stride;
    } else {
      dims_.push_back(dims[i]);
      strides_.push_back(stride);
    }
  }
  if (dims_.empty()) {
    dims_.push_back(1);
    strides_.push_back(1);
  }
}

template <typename T>
void BroadcastReader::LoadAs(int64_t begin, std::span<T> out) const {
  if (out.empty()) return;
  const int64_t inner = dims_.back();
  const std::span<const int64_t> outer(dims_.data(), dims_.size() - 1);
  int64_t column = begin % inner;
  BoxIndex row(outer, begin / inner);
  for (size_t done = 0; done < out.size(); row.Next(), column = 0) {
    const size_t run = std::min<size_t>(out.size() - done, inner - column);
    const std::span<T> part = out.subspan(done, run);
    const int64_t start = row.Offset(strides_);  // strides_ has one more entry than the row.
    if (strides_.back() == 0) {
      tensor_.Load(start, part.first(1));
      std::fill(part.begin(), part.end(), part[0]);
    } else {
      tensor_.Load(start + column, part);
    }
    done += run;
  }
}

template void BroadcastReader::LoadAs<double>(int64_t, std::span<double>) const;
template void BroadcastReader::LoadAs<int64_t>(int64_t, std::span<int64_t>) const;

template <typename T>
Tensor EvaluateElementwise(std::span<const Tensor* const> inputs, const TensorType& output,
                           int threads, const ChunkFn<T>& compute) {
  constexpr int64_t kChunk = 2048;  // Operands and result fit the first-level cache.
  NewTensor result(output);
  const std::vector<int64_t> dims = output.dims();
  std::vector<BroadcastReader> readers;
  for (const Tensor* input : inputs) readers.emplace_back(*input, dims);
  const int64_t count = Count(dims);
  const auto run = [&](int64_t begin, int64_t end) {
    std::vector<std::vector<T>> buffers(inputs.size(), std::vector<T>(kChunk));
    std::vector<std::span<const T>> operands(inputs.size());
    std::vector<T> out(kChunk);
    for (int64_t at = begin; at < end; at += kChunk) {
      const size_t size = std::min(kChunk, end - at);
      for (size_t i = 0; i < readers.size(); ++i) {
        const std::span<T> operand = std::span(buffers[i]).first(size);
        readers[i].Load(at, operand);
        operands[i] = operand;
      }
      compute(operands, std::span(out).first(size));
      model::Store(output.dtype, result.bytes, at, std::span<const T>(out).first(size));
    }
  };
  ParallelFor(count, 8 * kChunk, threads, run);
  return std::move(result.tensor);
}

template Tensor EvaluateElementwise<double>(std::span<const Tensor* const>, const TensorType&, int,
                                            const ChunkFn<double>&);
template Tensor EvaluateElementwise<int64_t>(std::span<const Tensor* const>, const TensorType&, int,
                                             const ChunkFn<int64_t>&);

}  // namespace quotient::ops
