// RotaryEmbedding: turns pairs of columns of each row by an angle that depends on the row's
// position, of which it gets the cosine and the sine. The columns are those of a head: the last
// axis of [batch, heads, rows, columns], or parts of the last axis of [batch, rows, heads x
// columns].

#include <algorithm>
#include <utility>
#include <vector>

#include "core/base/parallel.h"
#include "core/base/status_macros.h"
#include "core/ops/bounds.h"
#include "core/ops/dims.h"
#include "core/ops/elementwise.h"
#include "core/ops/families.h"
#include "core/ops/indices.h"
#include "core/ops/interval.h"
#include "core/ops/support.h"

namespace quotient::ops {
namespace {

using model::AttributeMap;
using model::Dim;
using model::DType;
using model::Node;
using model::Shape;
using model::Tensor;
using model::TensorType;

using Outputs = absl::StatusOr<std::vector<Tensor>>;

constexpr size_t kInput = 0, kCosines = 1, kSines = 2, kPositions = 3;

// --- Inference ---

// The columns of a head; unknown if they do not follow.
absl::StatusOr<Dim> ColumnsOf(const AttributeMap& attributes, const Shape& input) {
  if (input.size() == 4) return input[3];
  if (input.size() != 3) return ShapeError("an input of ", input.size(), " axes, not 3 or 4");
  const int64_t heads = attributes.GetInt("num_heads", 0);
  if (heads < 1) return ShapeError("attribute num_heads is ", heads, ", and the input has 3 axes");
  if (input[2].is_number() && input[2].number() % heads != 0) {
    return ShapeError(input[2].number(), " columns cannot be cut into ", heads, " heads");
  }
  const Dim divisor(heads);
  return DivideDims({&input[2], 1}, {&divisor, 1});
}

// How many columns of a head are turned; unknown if that does not follow.
absl::StatusOr<Dim> TurnedColumns(const AttributeMap& attributes, const Dim& columns) {
  const int64_t turned = attributes.GetInt("rotary_embedding_dim", 0);
  if (turned < 0) return ShapeError("attribute rotary_embedding_dim is ", turned);
  if (columns.is_number() && turned > columns.number()) {
    return ShapeError("attribute rotary_embedding_dim is ", turned, " where a head has ",
                      columns.number(), " columns");
  }
  const Dim result = turned > 0 ? Dim(turned) : columns;
  if (result.is_number() && result.number() % 2 != 0) {
    return ShapeError(result.number(), " columns are no pairs");
  }
  return result;
}

// Fails unless `own` is broadcast to `whole`.
absl::Status CheckAxis(const char* what, const Dim& own, const Dim& whole, bool may_be_one) {
  if (!own.is_number() || !whole.is_number() || own == whole || (may_be_one && own.Is(1))) {
    return absl::OkStatus();
  }
  return ShapeError(what, " of size ", own.number(), " where the input has ", whole.number());
}

absl::Status CheckRank(const char* what, const Shape& shape, size_t rank) {
  if (shape.size() == rank) return absl::OkStatus();
  return ShapeError(what, " of ", shape.size(), " axes, not ", rank);
}

// Caches have a row for each position, or without positions one for each row of the input.
absl::Status CheckCache(const InferContext& context, size_t index, const Shape& input,
                        const Dim& turned) {
  const Shape* const cache = ShapeAt(context, index);
  if (cache == nullptr) return absl::OkStatus();
  const char* const what = index == kCosines ? "cos_cache" : "sin_cache";
  const bool by_position = HasInput(context, kPositions);
  QUOTIENT_RETURN_IF_ERROR(CheckRank(what, *cache, by_position ? 2 : 3));
  if (turned.is_number()) {
    QUOTIENT_RETURN_IF_ERROR(CheckAxis(what, cache->back(), Dim(turned.number() / 2), false));
  }
  if (by_position) return absl::OkStatus();
  QUOTIENT_RETURN_IF_ERROR(CheckAxis(what, (*cache)[0], input[0], true));
  return CheckAxis(what, (*cache)[1], input[input.size() - 2], true);
}

absl::StatusOr<InferResult> InferRotaryEmbedding(const InferContext& context) {
  QUOTIENT_ASSIGN_OR_RETURN(const DType dtype, CommonDType(context, kInput, kPositions));
  QUOTIENT_RETURN_IF_ERROR(CheckDomain(Domain::kFloat, dtype));
  const DType positions = DTypeAt(context, kPositions);
  if (positions != DType::kUndefined && positions != DType::kInt64) {
    return ShapeError("position_ids of type ", model::DTypeName(positions));
  }
  const Shape* const input = ShapeAt(context, kInput);
  if (input == nullptr) return UnknownShape(dtype);
  QUOTIENT_ASSIGN_OR_RETURN(const Dim columns, ColumnsOf(context.attributes, *input));
  QUOTIENT_ASSIGN_OR_RETURN(const Dim turned, TurnedColumns(context.attributes, columns));
  QUOTIENT_RETURN_IF_ERROR(CheckCache(context, kCosines, *input, turned));
  QUOTIENT_RETURN_IF_ERROR(CheckCache(context, kSines, *input, turned));
  if (const Shape* own = ShapeAt(context, kPositions)) {
    QUOTIENT_RETURN_IF_ERROR(CheckRank("position_ids", *own, 2));
    QUOTIENT_RETURN_IF_ERROR(CheckAxis("position_ids", (*own)[0], (*input)[0], true));
    QUOTIENT_RETURN_IF_ERROR(
        CheckAxis("position_ids", (*own)[1], (*input)[input->size() - 2], true));
  }
  return OneOutput(TensorType(dtype, *input));
}

// --- Canonical form ---

// Four axes tell how many heads there are, and all columns are turned unless it is said otherwise.
absl::Status CanonicalizeRotaryEmbedding(Node& node, std::span<const InferInput> inputs) {
  const TensorType* const input = InputAt(inputs, kInput).type;
  if (input == nullptr || !input->has_rank()) return absl::OkStatus();
  if (input->rank() == 4) node.attributes.Erase("num_heads");
  QUOTIENT_ASSIGN_OR_RETURN(const Dim columns, ColumnsOf(node.attributes, *input->shape));
  if (columns.Is(node.attributes.GetInt("rotary_embedding_dim", 0))) {
    node.attributes.Erase("rotary_embedding_dim");
  }
  return absl::OkStatus();
}

bool AcceptsRotaryEmbedding(const Node& node) {
  return node.attributes.GetInt("interleaved", 1) == 1;
}

// --- Evaluation ---

// The rows of cosines or sines, one for each row of the input.
class Cache {
 public:
  // `positions`: of each row, or none if the cache has a row for each.
  Cache(const Tensor& cache, const std::vector<int64_t>& positions, int64_t batch, int64_t rows)
      : cache_(cache), positions_(positions), columns_(cache.dims().back()) {
    const int64_t dims[] = {batch, rows, columns_};
    if (cache.rank() == 3) reader_.emplace(cache, dims);
  }

  void Load(int64_t row, std::span<double> out) const {
    if (reader_) {
      reader_->Load(row * columns_, out);
    } else {
      cache_.Load(positions_[row] * columns_, out);
    }
  }

 private:
  const Tensor& cache_;
  const std::vector<int64_t>& positions_;
  const int64_t columns_;
  std::optional<BroadcastReader> reader_;
};

// Turns the pairs of a row, whose halves are `distance` apart and which begin every `step` columns.
void Turn(std::span<const double> cosines, std::span<const double> sines, size_t step,
          size_t distance, std::span<double> row) {
  for (size_t i = 0; i < cosines.size(); ++i) {
    double& a = row[i * step];
    double& b = row[i * step + distance];
    const double turned = cosines[i] * a - sines[i] * b;
    b = sines[i] * a + cosines[i] * b;
    a = turned;
  }
}

// The positions of all rows as numbers; none if there is no such input.
absl::StatusOr<std::vector<int64_t>> ReadPositions(const EvaluateContext& context, int64_t batch,
                                                   int64_t rows) {
  const bool has_positions = context.inputs.size() > kPositions && context.inputs[kPositions];
  if (!has_positions) return std::vector<int64_t>();
  const Tensor& given = *context.inputs[kPositions];
  const int64_t size =
      std::min(context.inputs[kCosines]->dims()[0], context.inputs[kSines]->dims()[0]);
  QUOTIENT_RETURN_IF_ERROR(ReadIndices(given, size).status());
  std::vector<int64_t> positions(static_cast<size_t>(batch * rows));
  const int64_t dims[] = {batch, rows};
  BroadcastReader(given, dims).Load(0, std::span(positions));
  for (int64_t& position : positions) position += position < 0 ? size : 0;
  return positions;
}

Outputs EvaluateRotaryEmbedding(const EvaluateContext& context) {
  const Tensor& input = *context.inputs[kInput];
  const std::vector<int64_t>& dims = input.dims();
  const bool has_axis = dims.size() == 4;
  const int64_t heads = has_axis ? dims[1] : context.attributes.GetInt("num_heads", 1);
  const int64_t rows = dims[dims.size() - 2];
  const int64_t columns = has_axis ? dims[3] : dims[2] / heads;
  const int64_t pairs = context.inputs[kCosines]->dims().back();
  const bool neighbours = context.attributes.GetInt("interleaved", 0) == 1;
  QUOTIENT_ASSIGN_OR_RETURN(const std::vector<int64_t> positions,
                            ReadPositions(context, dims[0], rows));
  const Cache cosines(*context.inputs[kCosines], positions, dims[0], rows);
  const Cache sines(*context.inputs[kSines], positions, dims[0], rows);
  NewTensor result(context.output_types[0]);
  const int64_t grain = (int64_t{1} << 14) / std::max<int64_t>(columns, 1) + 1;
  ParallelFor(dims[0] * heads * rows, grain, context.threads, [&](int64_t begin, int64_t end) {
    std::vector<double> row(static_cast<size_t>(columns));
    std::vector<double> cosine(static_cast<size_t>(pairs)), sine(cosine.size());
    for (int64_t i = begin; i < end; ++i) {
      // Rows lie heads by rows, or rows by heads.
      const int64_t batch = i / (heads * rows);
      const int64_t at = has_axis ? i % rows : i / heads % rows;
      cosines.Load(batch * rows + at, std::span(cosine));
      sines.Load(batch * rows + at, std::span(sine));
      input.Load(i * columns, std::span(row));
      Turn(cosine, sine, neighbours ? 2 : 1, neighbours ? 1 : cosine.size(), row);
      model::Store(input.dtype(), result.bytes, i * columns, std::span<const double>(row));
    }
  });
  return std::vector<Tensor>{std::move(result.tensor)};
}

// --- Facts ---

// ONNX Runtime reads whatever lies before the cache where a position is negative, and wants every
// row of a cache to be there.
bool ReadsInside(const EvaluateContext& context, std::span<const Tensor>) {
  const std::vector<int64_t>& input = context.inputs[kInput]->dims();
  const bool has_positions = context.inputs.size() > kPositions && context.inputs[kPositions];
  if (has_positions) {
    return std::ranges::all_of(context.inputs[kPositions]->AsInts(),
                               [](int64_t position) { return position >= 0; });
  }
  return std::ranges::all_of(std::vector{kCosines, kSines}, [&](size_t cache) {
    const std::vector<int64_t>& own = context.inputs[cache]->dims();
    return own[0] == input[0] && own[1] == input[input.size() - 2];
  });
}

Interval BoundsOfRotaryEmbedding(const BoundsContext& context) {
  const auto times = [&](size_t cache) {
    return InType(context.dtype(), Product(context.in(kInput), context.in(cache)));
  };
  const Interval along = times(kCosines), across = times(kSines);
  const Interval turned = Hull(Sum(along, across), Sum(along, Negative(across)));
  return Hull(context.in(kInput), InType(context.dtype(), turned, kFunctionSlack));
}

}  // namespace

std::span<const OpDef> RotaryOps() {
  using Kind = AttributeDef::Kind;
  static const auto& rows = *new std::vector<OpDef>{
      {.name = "RotaryEmbedding",
       .op_class = OpClass::kNormalization,
       .min_inputs = 3,
       .max_inputs = 4,
       .max_outputs = 1,
       .since_opset = 23,
       .numerics = {.bounds = BoundsOfRotaryEmbedding,
                    .requirements = {{.input = kPositions,
                                      .kind = Requirement::Kind::kIndices,
                                      .data = kCosines}}},
       .attributes = {{"interleaved", Kind::kInt, int64_t{0}},
                      {"num_heads", Kind::kInt, int64_t{0}},
                      {"rotary_embedding_dim", Kind::kInt, int64_t{0}}},
       .infer = InferRotaryEmbedding,
       .evaluate = EvaluateRotaryEmbedding,
       .canonicalize = CanonicalizeRotaryEmbedding,
       .accepts = AcceptsRotaryEmbedding,
       .is_certain = ReadsInside},
  };
  return rows;
}

}  // namespace quotient::ops
