// GatherND, ScatterND: they read or write blocks that tuples of indices select.

#include <algorithm>
#include <cstring>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "core/base/status_macros.h"
#include "core/ops/bounds.h"
#include "core/ops/certain.h"
#include "core/ops/elementwise.h"
#include "core/ops/families.h"
#include "core/ops/indices.h"
#include "core/ops/support.h"

namespace quotient::ops {
namespace {

using model::Attribute;
using model::Dim;
using model::DType;
using model::Node;
using model::Shape;
using model::Tensor;
using model::TensorType;

// Along the last axis of an index tensor lie tuples that select blocks of the data: after `batch`
// axes that both tensors share, a tuple indexes the next `depth` axes of the data.
struct BlockIndex {
  size_t batch;
  size_t depth;
};

absl::StatusOr<BlockIndex> BlockIndexOf(size_t data_rank, const Shape& indices, int64_t batch) {
  if (indices.empty() || batch < 0 || batch >= static_cast<int64_t>(indices.size()) ||
      batch > static_cast<int64_t>(data_rank)) {
    return ShapeError("batch_dims of ", batch, " with indices of rank ", indices.size());
  }
  const Dim& depth = indices.back();
  const size_t left = data_rank - static_cast<size_t>(batch);
  if (depth.is_number() && depth.number() > static_cast<int64_t>(left)) {
    return ShapeError("indices of ", depth.number(), " axes into ", left);
  }
  return BlockIndex{static_cast<size_t>(batch),
                    depth.is_number() ? static_cast<size_t>(depth.number()) : 0};
}

// For each tuple, the index of the block that it selects.
absl::StatusOr<std::vector<int64_t>> NamedBlocks(const Tensor& data, const Tensor& indices,
                                                 const BlockIndex& blocks) {
  const std::vector<int64_t> values = indices.AsInts();
  const std::span<const int64_t> dims = data.dims();
  const int64_t batches = Count(dims.first(blocks.batch));
  const int64_t tuples = Count(std::span(indices.dims()).first(indices.dims().size() - 1));
  const int64_t per_batch = batches == 0 ? 0 : tuples / batches;
  std::vector<int64_t> named;
  named.reserve(static_cast<size_t>(tuples));
  for (int64_t tuple = 0; tuple < tuples; ++tuple) {
    int64_t block = per_batch == 0 ? 0 : tuple / per_batch;
    for (size_t i = 0; i < blocks.depth; ++i) {
      const int64_t size = dims[blocks.batch + i];
      const int64_t index = values[static_cast<size_t>(tuple) * blocks.depth + i];
      if (index < -size || index >= size) {
        return absl::FailedPreconditionError(
            absl::StrCat("index ", index, " is out of range for ", size, " elements"));
      }
      block = block * size + index + (index < 0 ? size : 0);
    }
    named.push_back(block);
  }
  return named;
}

absl::StatusOr<InferResult> InferGatherNd(const InferContext& context) {
  InferResult result = UnknownShape(DTypeAt(context, 0));
  const Shape* data = ShapeAt(context, 0);
  const Shape* indices = ShapeAt(context, 1);
  if (data == nullptr || indices == nullptr) return result;
  QUOTIENT_ASSIGN_OR_RETURN(
      const BlockIndex blocks,
      BlockIndexOf(data->size(), *indices, context.attributes.GetInt("batch_dims", 0)));
  for (size_t i = 0; i < blocks.batch; ++i) {
    const Dim &a = (*data)[i], &b = (*indices)[i];
    if (a.is_number() && b.is_number() && a != b) return ShapeError("batches of different sizes");
  }
  if (!indices->back().is_number()) return result;
  Shape shape(indices->begin(), indices->end() - 1);
  shape.insert(shape.end(),
               data->begin() + static_cast<std::ptrdiff_t>(blocks.batch + blocks.depth),
               data->end());
  result.types[0].shape = std::move(shape);
  return result;
}

size_t BlockBytes(const Tensor& data, const BlockIndex& blocks) {
  return static_cast<size_t>(Count(std::span(data.dims()).subspan(blocks.batch + blocks.depth))) *
         static_cast<size_t>(ElementBytes(data.dtype()));
}

absl::StatusOr<std::vector<Tensor>> EvaluateGatherNd(const EvaluateContext& context) {
  const Tensor& data = *context.inputs[0];
  const Tensor& indices = *context.inputs[1];
  QUOTIENT_ASSIGN_OR_RETURN(const BlockIndex blocks,
                            BlockIndexOf(data.dims().size(), *indices.type().shape,
                                         context.attributes.GetInt("batch_dims", 0)));
  QUOTIENT_ASSIGN_OR_RETURN(const std::vector<int64_t> sources, NamedBlocks(data, indices, blocks));
  NewTensor result(context.output_types[0]);
  CopyBlocks(data.bytes(), sources, BlockBytes(data, blocks), result.bytes, context.threads);
  return std::vector<Tensor>{std::move(result.tensor)};
}

bool KnowsReduction(const Node& node) {
  const std::string reduction = node.attributes.GetString("reduction", "none");
  return reduction == "none" || reduction == "add" || reduction == "mul" || reduction == "min" ||
         reduction == "max";
}

absl::StatusOr<InferResult> InferScatterNd(const InferContext& context) {
  InferResult result = UnknownShape(DTypeAt(context, 0));
  const DType updated = DTypeAt(context, 2);
  if (updated != DType::kUndefined && updated != result.types[0].dtype) {
    return ShapeError("updates of type ", model::DTypeName(updated), " for data of type ",
                      model::DTypeName(result.types[0].dtype));
  }
  const Shape* data = ShapeAt(context, 0);
  if (data == nullptr) return result;
  result.types[0].shape = *data;
  const Shape* indices = ShapeAt(context, 1);
  const Shape* updates = ShapeAt(context, 2);
  if (indices == nullptr) return result;
  QUOTIENT_ASSIGN_OR_RETURN(const BlockIndex blocks, BlockIndexOf(data->size(), *indices, 0));
  if (updates == nullptr || !indices->back().is_number()) return result;
  Shape expected(indices->begin(), indices->end() - 1);
  expected.insert(expected.end(), data->begin() + static_cast<std::ptrdiff_t>(blocks.depth),
                  data->end());
  const TensorType given(DTypeAt(context, 0), *updates);
  if (!model::Compatible(given, TensorType(DTypeAt(context, 0), expected))) {
    return ShapeError("updates are ", model::ToString(*updates), " instead of ",
                      model::ToString(expected));
  }
  return result;
}

template <typename T>
T Reduce(absl::string_view reduction, T a, T b) {
  if (reduction == "add") return WrapAdd(a, b);
  if (reduction == "mul") return WrapMul(a, b);
  return reduction == "max" ? MaxOf(a, b) : MinOf(a, b);
}

// Applies the updates in order, because a block may be selected several times. Elements are stored
// as Storage between steps and computed in T.
template <typename Storage, typename T>
void ReduceBlocks(absl::string_view reduction, const Tensor& updates,
                  std::span<const int64_t> blocks, const Tensor& data, std::span<std::byte> out) {
  const size_t block = blocks.empty() ? 0 : static_cast<size_t>(updates.elements()) / blocks.size();
  std::vector<Storage> values(static_cast<size_t>(data.elements()));
  data.Load(0, std::span(values));
  std::vector<Storage> update(block);
  for (size_t i = 0; i < blocks.size(); ++i) {
    updates.Load(static_cast<int64_t>(i * block), std::span(update));
    Storage* target = values.data() + static_cast<size_t>(blocks[i]) * block;
    for (size_t j = 0; j < block; ++j) {
      target[j] = static_cast<Storage>(
          Reduce(reduction, static_cast<T>(target[j]), static_cast<T>(update[j])));
    }
  }
  model::Store(data.dtype(), out, 0, std::span<const Storage>(values));
}

absl::StatusOr<std::vector<Tensor>> EvaluateScatterNd(const EvaluateContext& context) {
  const Tensor& data = *context.inputs[0];
  const Tensor& indices = *context.inputs[1];
  const Tensor& updates = *context.inputs[2];
  QUOTIENT_ASSIGN_OR_RETURN(const BlockIndex blocks,
                            BlockIndexOf(data.dims().size(), *indices.type().shape, 0));
  QUOTIENT_ASSIGN_OR_RETURN(const std::vector<int64_t> targets, NamedBlocks(data, indices, blocks));
  NewTensor result(context.output_types[0]);
  const std::string reduction = context.attributes.GetString("reduction", "none");
  if (reduction == "none") {
    std::copy(data.bytes().begin(), data.bytes().end(), result.bytes.begin());
    const size_t bytes = BlockBytes(data, blocks);
    for (size_t i = 0; i < targets.size() && bytes > 0; ++i) {
      std::memcpy(result.bytes.data() + static_cast<size_t>(targets[i]) * bytes,
                  updates.bytes().data() + i * bytes, bytes);
    }
  } else if (model::IsFloat(data.dtype())) {
    ReduceBlocks<double, double>(reduction, updates, targets, data, result.bytes);
  } else if (data.dtype() == DType::kUint64) {
    ReduceBlocks<int64_t, uint64_t>(reduction, updates, targets, data, result.bytes);
  } else {
    ReduceBlocks<int64_t, int64_t>(reduction, updates, targets, data, result.bytes);
  }
  return std::vector<Tensor>{std::move(result.tensor)};
}

// Runtimes may apply updates in any order. So a block may be selected twice only if the updates
// commute and stay finite, which is not certain for products of many.
bool ScattersCertainly(const EvaluateContext& context, std::span<const Tensor>) {
  const Tensor& data = *context.inputs[0];
  const Tensor& indices = *context.inputs[1];
  const auto blocks = BlockIndexOf(data.dims().size(), *indices.type().shape, 0);
  if (!blocks.ok()) return false;
  auto targets = NamedBlocks(data, indices, *blocks);
  if (!targets.ok()) return false;
  std::sort(targets->begin(), targets->end());
  if (std::adjacent_find(targets->begin(), targets->end()) == targets->end()) return true;
  const std::string reduction = context.attributes.GetString("reduction", "none");
  if (reduction == "none") return false;
  return !model::IsFloat(data.dtype()) || (reduction != "mul" && AreTame(context));
}

Interval BoundsOfScatterNd(const BoundsContext& context) {
  const bool replaces = context.attributes.GetString("reduction", "none") == "none";
  return replaces ? Hull(context.in(0), context.in(2)) : AnythingOf(context.dtype());
}

}  // namespace

std::span<const OpDef> IndexTupleOps() {
  using Kind = AttributeDef::Kind;
  static const auto& rows = *new std::vector<OpDef>{
      {.name = "GatherND",
       .op_class = OpClass::kMove,
       .min_inputs = 2,
       .max_inputs = 2,
       .max_outputs = 1,
       .since_opset = 11,
       .exact = true,
       .movement = Movement::kFromFirst,
       .numerics = {.requirements = {{1, Requirement::Kind::kIndexTuples}}},
       .attributes = {{"batch_dims", Kind::kInt, Attribute(int64_t{0})}},
       .infer = InferGatherNd,
       .evaluate = EvaluateGatherNd},
      {.name = "ScatterND",
       .op_class = OpClass::kMove,
       .min_inputs = 3,
       .max_inputs = 3,
       .max_outputs = 1,
       .since_opset = 11,
       .numerics = {.bounds = BoundsOfScatterNd,
                    .requirements = {{1, Requirement::Kind::kTargetTuples}}},
       .attributes = {{"reduction", Kind::kString, Attribute(std::string("none"))}},
       .infer = InferScatterNd,
       .evaluate = EvaluateScatterNd,
       .accepts = KnowsReduction,
       .is_certain = ScattersCertainly},
  };
  return rows;
}

}  // namespace quotient::ops
