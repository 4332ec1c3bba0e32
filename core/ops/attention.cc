// Attention: softmax(scale Q K^T + mask) V, head by head, of one sequence without a cache of
// earlier keys and values. Queries, keys and values are [batch, heads, rows, columns], or [batch,
// rows, heads x columns] with the numbers of heads as attributes. Of the heads of keys and values,
// each may serve several neighbouring heads of queries. Where all keys of a query are hidden from
// it, its result is 0.

#include "core/ops/attention.h"

#include <cmath>
#include <utility>

#include "core/base/status_macros.h"
#include "core/ops/bounds.h"
#include "core/ops/dims.h"
#include "core/ops/elementwise.h"
#include "core/ops/families.h"
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

using attention::HeadsAttribute;
using attention::kKeys;
using attention::kMask;
using attention::kQueries;
using attention::kValues;

// --- Inference ---

// Queries, keys or values with an axis of heads.
struct Heads {
  Dim batch, heads, rows, columns;
};

// Nullopt if the rank of the input is not known.
absl::StatusOr<std::optional<Heads>> HeadsAt(const InferContext& context, size_t input) {
  const Shape* shape = ShapeAt(context, input);
  if (shape == nullptr) return std::nullopt;
  if (shape->size() == 4) return Heads{(*shape)[0], (*shape)[1], (*shape)[2], (*shape)[3]};
  if (shape->size() != 3) {
    return ShapeError("input ", input, " has ", shape->size(), " axes, not 3 or 4");
  }
  const char* const name = HeadsAttribute(input);
  const int64_t heads = context.attributes.GetInt(name, 0);
  if (heads < 1) {
    return ShapeError("attribute ", name, " is ", heads, ", and input ", input, " has 3 axes");
  }
  const Dim& width = (*shape)[2];
  if (width.is_number() && width.number() % heads != 0) {
    return ShapeError(width.number(), " columns of input ", input, " cannot be cut into ", heads,
                      " heads");
  }
  const Dim divisor(heads);
  return Heads{(*shape)[0], divisor, (*shape)[1], DivideDims({&width, 1}, {&divisor, 1})};
}

absl::Status CheckSame(const char* what, const Dim& a, const Dim& b) {
  if (!a.is_number() || !b.is_number() || a == b) return absl::OkStatus();
  return ShapeError(a.number(), " and ", b.number(), " ", what);
}

absl::Status CheckHeads(const Heads& queries, const Heads& others) {
  QUOTIENT_RETURN_IF_ERROR(CheckSame("batches", queries.batch, others.batch));
  if (!queries.heads.is_number() || !others.heads.is_number()) return absl::OkStatus();
  if (others.heads.Is(0) || queries.heads.number() % others.heads.number() != 0) {
    return ShapeError(queries.heads.number(), " heads of queries cannot share ",
                      others.heads.number(), " heads of keys and values");
  }
  return absl::OkStatus();
}

// The mask is broadcast to [batch, heads, rows, keys], but it may have fewer columns: no query sees
// the other keys.
absl::Status CheckMask(const Shape& mask, const Shape& scores) {
  if (mask.size() > scores.size()) return ShapeError("a mask of ", mask.size(), " axes");
  for (size_t i = 1; i <= mask.size(); ++i) {
    const Dim& own = mask[mask.size() - i];
    const Dim& whole = scores[scores.size() - i];
    if (!own.is_number() || !whole.is_number() || own.Is(1) || own == whole) continue;
    if (i == 1 && own.number() < whole.number()) continue;
    return ShapeError("a mask of shape ", ToString(mask), " for scores of shape ",
                      ToString(scores));
  }
  return absl::OkStatus();
}

absl::StatusOr<InferResult> InferAttention(const InferContext& context) {
  for (const size_t input : {kQueries, kKeys, kValues}) {
    QUOTIENT_RETURN_IF_ERROR(CheckDomain(Domain::kFloat, DTypeAt(context, input)));
  }
  QUOTIENT_ASSIGN_OR_RETURN(const DType dtype, CommonDType(context, kQueries, kValues));
  QUOTIENT_ASSIGN_OR_RETURN(const std::optional<Heads> q, HeadsAt(context, kQueries));
  QUOTIENT_ASSIGN_OR_RETURN(const std::optional<Heads> k, HeadsAt(context, kKeys));
  QUOTIENT_ASSIGN_OR_RETURN(const std::optional<Heads> v, HeadsAt(context, kValues));
  for (const size_t input : {kKeys, kValues}) {
    const Shape* const own = ShapeAt(context, input);
    if (q && own != nullptr && own->size() != ShapeAt(context, kQueries)->size()) {
      return ShapeError("queries of ", ShapeAt(context, kQueries)->size(), " axes and input ",
                        input, " of ", own->size());
    }
  }
  if (q && k) {
    QUOTIENT_RETURN_IF_ERROR(CheckHeads(*q, *k));
    QUOTIENT_RETURN_IF_ERROR(
        CheckSame("columns of a head of queries and keys", q->columns, k->columns));
  }
  if (q && v) QUOTIENT_RETURN_IF_ERROR(CheckHeads(*q, *v));
  if (k && v) {
    QUOTIENT_RETURN_IF_ERROR(CheckSame("heads of keys and values", k->heads, v->heads));
    QUOTIENT_RETURN_IF_ERROR(CheckSame("keys and values", k->rows, v->rows));
  }
  if (!q) return UnknownShape(dtype);
  if (const Shape* mask = ShapeAt(context, kMask)) {
    const Dim keys = k ? k->rows : Dim();
    QUOTIENT_RETURN_IF_ERROR(CheckMask(*mask, {q->batch, q->heads, q->rows, keys}));
  }
  const Dim columns = v ? v->columns : Dim();
  if (ShapeAt(context, kQueries)->size() == 4) {
    return OneOutput(TensorType(dtype, {q->batch, q->heads, q->rows, columns}));
  }
  const bool same_width = v && v->heads == q->heads;
  const Dim width = same_width ? ShapeAt(context, kValues)->back() : MulDims(q->heads, columns);
  return OneOutput(TensorType(dtype, {q->batch, q->rows, width}));
}

// --- Canonical form ---

// The columns of a head; 0 if they are not known.
int64_t HeadSize(const AttributeMap& attributes, const TensorType& queries) {
  if (!queries.has_rank() || queries.rank() == 0) return 0;
  const Dim& last = queries.dim(queries.rank() - 1);
  if (!last.is_number()) return 0;
  const int64_t heads = queries.rank() == 3 ? attributes.GetInt(HeadsAttribute(kQueries), 0) : 1;
  return heads > 0 ? last.number() / heads : 0;
}

std::optional<double> DefaultScale(const AttributeMap& attributes, const TensorType& queries) {
  const int64_t columns = HeadSize(attributes, queries);
  if (columns == 0) return std::nullopt;
  return static_cast<double>(static_cast<float>(1 / std::sqrt(static_cast<double>(columns))));
}

// Four axes tell how many heads there are; the attribute may only say the same.
absl::Status EraseHeads(AttributeMap& attributes, const TensorType* type, size_t input) {
  const char* const name = HeadsAttribute(input);
  if (type == nullptr || !type->has_rank() || type->rank() != 4) return absl::OkStatus();
  const int64_t heads = attributes.GetInt(name, 0);
  if (heads > 0) QUOTIENT_RETURN_IF_ERROR(CheckSame("heads", Dim(heads), type->dim(1)));
  attributes.Erase(name);
  return absl::OkStatus();
}

absl::Status CanonicalizeAttention(Node& node, std::span<const InferInput> inputs) {
  AttributeMap& attributes = node.attributes;
  attributes.Erase("qk_matmul_output_mode");  // Of an output that is not supported.
  const TensorType* const queries = InputAt(inputs, kQueries).type;
  if (queries == nullptr) return absl::OkStatus();
  if (attributes.GetInt("softmax_precision", 0) == static_cast<int64_t>(queries->dtype)) {
    attributes.Erase("softmax_precision");
  }
  const std::optional<double> usual = DefaultScale(attributes, *queries);
  if (usual && static_cast<float>(attributes.GetFloat("scale", *usual)) == *usual) {
    attributes.Erase("scale");
  }
  QUOTIENT_RETURN_IF_ERROR(EraseHeads(attributes, queries, kQueries));
  return EraseHeads(attributes, InputAt(inputs, kKeys).type, kKeys);
}

bool AcceptsAttention(const Node& node) {
  const double scale = node.attributes.GetFloat("scale", 1);
  for (const char* name : {"softcap", "left_window_size", "right_window_size"}) {
    if (node.attributes.Has(name)) return false;
  }
  return scale > 0 && std::isfinite(scale) && node.attributes.GetInt("is_causal", 1) == 1;
}

// --- Facts ---

// Rows are the axis before the last, with an axis of heads or without.
bool HasKeys(const EvaluateContext& context, std::span<const Tensor>) {
  return context.inputs[kKeys]->dims().end()[-2] > 0;
}

// Scores with a mask that is added; a boolean one leaves them or hides them.
Interval BoundsOfScores(const BoundsContext& context, double scale) {
  Interval scores = SumOfProducts(context, SizeAt(context, kQueries, -1));
  scores = InType(context.dtype(), Product(scores, {scale, scale, false}));
  if (!context.has(kMask) || context.inputs[kMask].type->dtype == DType::kBool) return scores;
  return InType(context.dtype(), Sum(scores, context.in(kMask)));
}

// Weighted means of values, where no score leaves its type; 0 where there are none.
Interval BoundsOfAttention(const BoundsContext& context) {
  const Interval values = context.in(kValues);
  const std::optional<double> scale =
      context.has(kQueries) && context.has(kKeys)
          ? ScaleOfAttention(context.attributes, *context.inputs[kQueries].type)
          : std::nullopt;
  if (!scale || !values.finite() || !BoundsOfScores(context, *scale).finite()) {
    return AnythingOf(context.dtype());
  }
  return InType(context.dtype(), Hull(values, {0, 0, false}), kFunctionSlack);
}

// Both products as one, over the columns of queries and values together.
Products ProductsOfAttention(const AttributeMap& attributes, const Dims& queries, const Dims& keys,
                             const Dims& output) {
  const bool has_axis = queries.size() == 4;
  const auto heads =
      static_cast<double>(has_axis ? queries[1] : attributes.GetInt(HeadsAttribute(kQueries), 1));
  const double columns = static_cast<double>(queries.back()) + static_cast<double>(output.back());
  return {.batch = static_cast<double>(queries[0]) * heads,
          .m = static_cast<double>(queries[has_axis ? 2 : 1]),
          .n = static_cast<double>(keys[has_axis ? 2 : 1]),
          .k = has_axis ? columns : columns / heads};
}

}  // namespace

std::optional<double> ScaleOfAttention(const AttributeMap& attributes, const TensorType& queries) {
  if (attributes.Has("scale")) return attributes.GetFloat("scale", 1);
  return DefaultScale(attributes, queries);
}

std::span<const OpDef> AttentionOps() {
  using Kind = AttributeDef::Kind;
  static const auto& rows = *new std::vector<OpDef>{
      {.name = "Attention",
       .op_class = OpClass::kNormalization,
       .min_inputs = 3,
       .max_inputs = 4,
       .max_outputs = 1,
       .since_opset = 23,
       .numerics = {.bounds = BoundsOfAttention, .own_rounding = true},
       .contraction = {.products = ProductsOfAttention},
       .attributes = {{"is_causal", Kind::kInt, int64_t{0}},
                      {"kv_num_heads", Kind::kInt, std::nullopt},
                      {"left_window_size", Kind::kInt, int64_t{-1}},
                      {"q_num_heads", Kind::kInt, std::nullopt},
                      {"qk_matmul_output_mode", Kind::kInt, int64_t{0}},
                      {"right_window_size", Kind::kInt, int64_t{-1}},
                      {"scale", Kind::kFloat, std::nullopt},
                      {"softcap", Kind::kFloat, 0.0},
                      {"softmax_precision", Kind::kInt, std::nullopt}},
       .infer = InferAttention,
       .evaluate = attention::Evaluate,
       .canonicalize = CanonicalizeAttention,
       .accepts = AcceptsAttention,
       .is_certain = HasKeys},
  };
  return rows;
}

}  // namespace quotient::ops
