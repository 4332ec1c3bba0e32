// The rule that takes an Attention apart, so that what is known about products and a Softmax
// applies to it.

#include <optional>
#include <vector>

#include "core/ops/attention.h"
#include "core/ops/interval.h"
#include "core/rules/attention_masks.h"
#include "core/rules/family.h"
#include "core/rules/types.h"

namespace quotient::rules {
namespace {

constexpr char kText[] = R"(
# Attention(q, k, v, b; c) = Softmax(c q k' + b) v
attention-parts: ?z = Attention[?a](?q, ?k, ?v, ?m...) => attention_parts(?a, ?q, ?k, ?v, ?m)
  if smooth(?z)
)";

// Each head `times` times.
ClassId Repeated(Terms& terms, ClassId x, int64_t heads, int64_t times) {
  if (times == 1) return x;
  std::vector<double> indices;
  for (int64_t i = 0; i < heads * times; ++i) indices.push_back(static_cast<double>(i / times));
  return terms.Op("Gather", {x, terms.Constant(model::DType::kInt64, {heads * times}, indices)},
                  {{"axis", int64_t{1}}});
}

// How many heads of queries share one of keys and values: types [b, h, .., ..].
std::optional<int64_t> Sharing(const TensorType& queries, const TensorType& keys) {
  if (model::SameDim(queries.dim(1), keys.dim(1))) return 1;
  const std::optional<int64_t> heads = NumberAt(queries, 1);
  const std::optional<int64_t> shared = NumberAt(keys, 1);
  constexpr int64_t kMostHeads = 1 << 12;
  if (!heads || !shared || *shared < 1 || *heads > kMostHeads || *heads % *shared != 0) {
    return std::nullopt;
  }
  return *heads / *shared;
}

// Whether each query may see each key, in their order. Invalid where it is not known how many there
// are.
ClassId EarlierKeys(Terms& terms, const TensorType& scores) {
  const std::optional<int64_t> rows = NumberAt(scores, 2);
  const std::optional<int64_t> keys = NumberAt(scores, 3);
  if (!rows || !keys || *rows > kMostMaskElements || *keys > kMostMaskElements ||
      *rows * *keys > kMostMaskElements) {
    return ClassId();
  }
  std::vector<double> seen;
  for (int64_t i = 0; i < *rows * *keys; ++i) seen.push_back(i % *keys <= i / *keys ? 1 : 0);
  return terms.Constant(model::DType::kBool, {*rows, *keys}, seen);
}

// What is done to scores, and to their weights, so that keys are hidden.
struct Masking {
  std::optional<ClassId> added;  // To the scores.
  std::optional<ClassId> seen;   // A condition; where it is false, scores are -infinity.
  // The same for what may hide all keys of a query, whose weights are NaN: there they are 0.
  std::optional<ClassId> shown;
};

// Nullopt if the mask is not broadcast to the scores as they are, or may hide all keys of a query
// by what is added. If later keys are hidden as well, no element may hide one.
std::optional<Masking> MaskingBy(Terms& terms, ClassId mask, const TensorType& scores,
                                 bool is_causal) {
  const ClassData& data = terms.data(mask);
  const TensorType type = data.type;
  if (!KeepsShape(scores, type) || type.rank() == 0 ||
      !model::SameDim(type.dim(type.rank() - 1), scores.dim(3))) {
    return std::nullopt;
  }
  Masking masking;
  if (type.dtype == model::DType::kBool) {
    masking.seen = mask;
    if (!ShowsSomethingInEachRow(data)) masking.shown = mask;
    return masking;
  }
  // Rows that show no key mean zeros for Attention and nothing for a Softmax, and a row of lowest
  // numbers means either.
  if (type.dtype != scores.dtype || !(is_causal ? HidesNoKey(data) : ShowsKeys(data))) {
    return std::nullopt;
  }
  masking.added = mask;
  return masking;
}

// Hides later keys, too. Of several conditions, each may leave no key.
void HideLaterKeys(Terms& terms, const TensorType& scores, Masking& masking) {
  const ClassId earlier = EarlierKeys(terms, scores);
  const std::optional<ClassId> shown = masking.shown ? masking.shown : masking.seen;
  if (shown) masking.shown = terms.Op("And", {*shown, earlier});
  masking.seen = masking.seen ? *masking.shown : earlier;
}

ClassId Weights(Terms& terms, ClassId scores, const Masking& masking) {
  const model::DType dtype = terms.type(scores).dtype;
  if (masking.added) scores = terms.Op("Add", {scores, *masking.added});
  if (masking.seen) {
    const ClassId infinity = terms.Filled(dtype, {}, -ops::Interval::kInfinity);
    scores = terms.Op("Where", {*masking.seen, scores, infinity});
  }
  const ClassId weights = terms.Op("Softmax", {scores});
  if (!masking.shown) return weights;
  return terms.Op("Where", {*masking.shown, weights, terms.Filled(dtype, {}, 0)});
}

// args: a, q, k, v, m
ClassId Taken(Terms& terms, std::span<const Binding> args) {
  const OpWord& word = terms.word(args[0].op);
  const TensorType q = terms.type(args[1].id);
  const TensorType k = terms.type(args[2].id);
  const TensorType v = terms.type(args[3].id);
  if (!q.has_rank() || !k.has_rank() || !v.has_rank() || q.rank() != 4 || k.dtype != q.dtype ||
      v.dtype != q.dtype || word.attributes.Has("softmax_precision")) {
    return ClassId();
  }
  const std::optional<int64_t> sharing = Sharing(q, k);
  const std::optional<double> scale = ops::ScaleOfAttention(word.attributes, q);
  // As far from 1 as near_one lets factors be moved; in float16 only down, before the product.
  const bool is_half = q.dtype == model::DType::kFloat16;
  if (!sharing || Sharing(q, v) != sharing || !model::SameDim(q.dim(0), k.dim(0)) ||
      !model::SameDim(q.dim(0), v.dim(0)) || !scale || !(*scale >= 0x1p-8) ||
      !(*scale <= (is_half ? 1 : 0x1p8))) {
    return ClassId();
  }
  const int64_t heads = NumberAt(k, 1).value_or(0);
  const auto scaled = [&](ClassId x) {
    return *scale == 1 ? x : terms.Op("Mul", {x, terms.Filled(q.dtype, {}, *scale)});
  };
  const ClassId columns =
      terms.Transpose(Repeated(terms, args[2].id, heads, *sharing), {0, 1, 3, 2});
  const ClassId scores = is_half ? terms.Op("MatMul", {scaled(args[1].id), columns})
                                 : scaled(terms.Op("MatMul", {args[1].id, columns}));
  if (!scores.valid()) return ClassId();
  const TensorType type = terms.type(scores);
  const bool is_causal = word.attributes.Has("is_causal");
  std::optional<Masking> masking = Masking();
  if (!args[4].list.empty()) masking = MaskingBy(terms, args[4].list[0], type, is_causal);
  if (!masking) return ClassId();
  if (is_causal) HideLaterKeys(terms, type, *masking);
  return terms.Op("MatMul",
                  {Weights(terms, scores, *masking), Repeated(terms, args[3].id, heads, *sharing)});
}

void AddWords(Words& words) { words.Term("attention_parts", "occcl", Taken); }

}  // namespace

Family AttentionPartsFamily() { return {"attention_parts", kText, AddWords, nullptr}; }

}  // namespace quotient::rules
