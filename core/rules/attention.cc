// Rules about Attention, which ONNX has since opset 23, and its parts: they become one operator,
// and it is taken apart again, so that what is known about products and a Softmax applies to it.
//
// Where a mask hides all keys of a query, Attention is 0, but a Softmax of -infinity is NaN, and
// one of the lowest number everywhere is a mean.

#include "core/rules/attention.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <optional>
#include <utility>
#include <vector>

#include "core/ops/attention.h"
#include "core/ops/interval.h"
#include "core/rules/family.h"
#include "core/rules/types.h"

namespace quotient::rules {
namespace {

constexpr char kText[] = R"(
# Softmax(c q k' + b) v = Attention(q, k, v, b; c), ' the exchange of the last two axes
attention: ?z = MatMul(Softmax[?s](MatMul(?q, ?t)), ?v) => attention(?s, ?q, ?t, ?v)
  if activation(?q) and single(?q) and smooth(?z)
attention: ?z = MatMul(Softmax[?s](Mul(MatMul(?q, ?t), ?c)), ?v)
  => attention_mul(?s, ?q, ?t, ?c, ?v)
  if activation(?q) and single(?q) and near_one(?c) and smooth(?z)
attention: ?z = MatMul(Softmax[?s](Div(MatMul(?q, ?t), ?c)), ?v)
  => attention_div(?s, ?q, ?t, ?c, ?v)
  if activation(?q) and single(?q) and near_one(?c) and smooth(?z)
attention: ?z = MatMul(Softmax[?s](Add(MatMul(?q, ?t), ?b)), ?v)
  => attention_masked(?s, ?q, ?t, ?v, ?b)
  if activation(?q) and single(?q) and shows_keys(?b) and smooth(?z)
attention: ?z = MatMul(Softmax[?s](Add(?b, MatMul(?q, ?t))), ?v)
  => attention_masked(?s, ?q, ?t, ?v, ?b)
  if activation(?q) and single(?q) and shows_keys(?b) and smooth(?z)
attention: ?z = MatMul(Softmax[?s](Add(Mul(MatMul(?q, ?t), ?c), ?b)), ?v)
  => attention_mul_masked(?s, ?q, ?t, ?c, ?v, ?b)
  if activation(?q) and single(?q) and shows_keys(?b) and near_one(?c) and smooth(?z)
attention: ?z = MatMul(Softmax[?s](Add(?b, Mul(MatMul(?q, ?t), ?c))), ?v)
  => attention_mul_masked(?s, ?q, ?t, ?c, ?v, ?b)
  if activation(?q) and single(?q) and shows_keys(?b) and near_one(?c) and smooth(?z)
attention: ?z = MatMul(Softmax[?s](Add(Div(MatMul(?q, ?t), ?c), ?b)), ?v)
  => attention_div_masked(?s, ?q, ?t, ?c, ?v, ?b)
  if activation(?q) and single(?q) and shows_keys(?b) and near_one(?c) and smooth(?z)
attention: ?z = MatMul(Softmax[?s](Add(?b, Div(MatMul(?q, ?t), ?c))), ?v)
  => attention_div_masked(?s, ?q, ?t, ?c, ?v, ?b)
  if activation(?q) and single(?q) and shows_keys(?b) and near_one(?c) and smooth(?z)
# Softmax(Where(m, c q k', lowest)) v = Attention(q, k, v, Where(m, 0, lowest); c), or with m itself;
# Where(m, lowest, c q k') alike
attention-where: ?z = MatMul(Softmax[?s](Where(?m, MatMul(?q, ?t), ?l)), ?v)
  => attention_where(?s, ?q, ?t, ?v, ?m, ?l)
  if activation(?q) and single(?q) and lowest(?l, ?q) and smooth(?z)
attention-where: ?z = MatMul(Softmax[?s](Where(?m, Mul(MatMul(?q, ?t), ?c), ?l)), ?v)
  => attention_mul_where(?s, ?q, ?t, ?c, ?v, ?m, ?l)
  if activation(?q) and single(?q) and lowest(?l, ?q) and near_one(?c) and smooth(?z)
attention-where: ?z = MatMul(Softmax[?s](Where(?m, Div(MatMul(?q, ?t), ?c), ?l)), ?v)
  => attention_div_where(?s, ?q, ?t, ?c, ?v, ?m, ?l)
  if activation(?q) and single(?q) and lowest(?l, ?q) and near_one(?c) and smooth(?z)
attention-where: ?z = MatMul(Softmax[?s](Where(?m, ?l, MatMul(?q, ?t))), ?v)
  => attention_unless(?s, ?q, ?t, ?v, ?m, ?l)
  if activation(?q) and single(?q) and lowest(?l, ?q) and smooth(?z)
attention-where: ?z = MatMul(Softmax[?s](Where(?m, ?l, Mul(MatMul(?q, ?t), ?c))), ?v)
  => attention_mul_unless(?s, ?q, ?t, ?c, ?v, ?m, ?l)
  if activation(?q) and single(?q) and lowest(?l, ?q) and near_one(?c) and smooth(?z)
attention-where: ?z = MatMul(Softmax[?s](Where(?m, ?l, Div(MatMul(?q, ?t), ?c))), ?v)
  => attention_div_unless(?s, ?q, ?t, ?c, ?v, ?m, ?l)
  if activation(?q) and single(?q) and lowest(?l, ?q) and near_one(?c) and smooth(?z)
# Attention(q, k, v, b; c) = Softmax(c q k' + b) v
attention-parts: ?z = Attention[?a](?q, ?k, ?v, ?m...) => attention_parts(?a, ?q, ?k, ?v, ?m)
  if smooth(?z)
)";

const Ints kLastTwo = {0, 1, 3, 2};

// --- The parts become one

struct Parts {
  ClassId queries;  // [.., rows, columns]
  ClassId columns;  // The keys as columns: [.., columns, keys].
  ClassId values;   // [.., keys, columns of values]
  double scale = 1;
  std::optional<ClassId> mask;
};

bool IsAlongLastAxis(const OpWord& softmax, const TensorType& scores) {
  const int64_t axis = softmax.attributes.GetInt("axis", -1);
  return axis == -1 || axis == scores.rank() - 1;
}

// Whether the leading axes, batches and heads, are the same.
bool SameFront(const TensorType& a, const TensorType& b) {
  for (int axis = 0; axis + 2 < a.rank(); ++axis) {
    if (!model::SameDim(a.dim(axis), b.dim(axis))) return false;
  }
  return true;
}

// ONNX Runtime wants all rows and columns of a mask to be there.
ClassId SpreadOver(Terms& terms, ClassId mask, const TensorType& scores) {
  const TensorType& type = terms.type(mask);
  Ints spread;
  bool is_whole = type.rank() >= 2;
  for (const int back : {2, 1}) {
    const model::Dim& wanted = scores.dim(scores.rank() - back);
    const bool is_there =
        type.rank() >= back && model::SameDim(type.dim(type.rank() - back), wanted);
    if (!is_there && !wanted.is_number()) return ClassId();
    is_whole &= is_there;
    spread.push_back(is_there ? 1 : wanted.number());
  }
  return is_whole ? mask : terms.Op("Expand", {mask}, {{"shape", std::move(spread)}});
}

// The Attention whose parts are these; its scores have three axes or four.
ClassId Joined(Terms& terms, const OpWord& softmax, const Parts& parts) {
  const TensorType q = terms.type(parts.queries);
  const TensorType t = terms.type(parts.columns);
  const TensorType v = terms.type(parts.values);
  if (!q.has_rank() || !t.has_rank() || !v.has_rank() || t.dtype != q.dtype || v.dtype != q.dtype) {
    return ClassId();
  }
  if (!MayHaveElements(q) || !MayHaveElements(t) || !MayHaveElements(v) ||
      NumberAt(q, -3).value_or(0) < 1) {
    return ClassId();
  }
  const int rank = q.rank();
  if ((rank != 3 && rank != 4) || t.rank() != rank || v.rank() != rank || !SameFront(q, t) ||
      !SameFront(q, v) || !(parts.scale > 0)) {
    return ClassId();
  }
  const ClassId product = terms.Op("MatMul", {parts.queries, parts.columns});
  if (!product.valid()) return ClassId();
  const TensorType scores = terms.type(product);
  if (!IsAlongLastAxis(softmax, scores)) return ClassId();
  const auto with_heads = [&](ClassId x) {
    return rank == 4 ? x : terms.Op("Unsqueeze", {x}, {{"axes", Ints{0}}});
  };
  std::vector<ClassId> operands = {with_heads(parts.queries),
                                   terms.Transpose(with_heads(parts.columns), kLastTwo),
                                   with_heads(parts.values)};
  if (parts.mask) {
    if (!parts.mask->valid() || !KeepsShape(scores, terms.type(*parts.mask))) return ClassId();
    operands.push_back(SpreadOver(terms, *parts.mask, scores));
  }
  const ClassId joined = terms.Op("Attention", operands, {{"scale", parts.scale}});
  return rank == 4 ? joined : terms.Op("Squeeze", {joined}, {{"axes", Ints{0}}});
}

// The only element of a constant that does not change the shape of what it scales.
std::optional<double> ScalarOf(const Terms& terms, ClassId c) {
  const ClassData& data = terms.data(c);
  if (!data.constant || !IsScalar(data.type, 3)) return std::nullopt;
  return data.constant->GetDouble(0);
}

// Whether the condition is known to be `wanted` somewhere in every row.
bool ShowsSomethingInEachRow(const ClassData& condition, bool wanted = true) {
  if (!condition.constant || condition.type.rank() == 0) return false;
  const model::Tensor& tensor = *condition.constant;
  const int64_t columns = tensor.dims().back();
  if (tensor.elements() == 0 || tensor.elements() > kMostMaskElements) return false;
  bool shows = false;
  for (int64_t i = 0; i < tensor.elements(); ++i) {
    shows = (shows && i % columns != 0) || (tensor.GetInt(i) != 0) == wanted;
    if (!shows && i % columns == columns - 1) return false;
  }
  return true;
}

// ONNX Runtime's Attention takes the lowest number of a type for -infinity, and a row of nothing
// else for one without keys, whose result is 0. This is the next number; nullopt for other types
// than float32 and float64.
std::optional<double> LeastAboveLowest(model::DType dtype) {
  switch (dtype) {
    case model::DType::kFloat32:
      return std::nextafter(-std::numeric_limits<float>::max(), 0.0F);
    case model::DType::kFloat64:
      return std::nextafter(-std::numeric_limits<double>::max(), 0.0);
    default:
      return std::nullopt;
  }
}

// What has the effect of putting `low`, of that type, in the place of scores where the condition is
// not `shown`. Where it may hide all keys of a query, the weights are equal: beside `low` the
// scores are lost in rounding, but not in float16, and -infinity would leave no weights at all.
ClassId MaskOf(Terms& terms, ClassId condition, bool shown, ClassId low) {
  if (ShowsSomethingInEachRow(terms.data(condition), shown)) {
    return shown ? condition : terms.Op("Not", {condition});
  }
  const model::DType dtype = terms.type(low).dtype;
  const std::optional<double> least = LeastAboveLowest(dtype);
  const double wanted = terms.data(low).constant->GetDouble(0);
  if (!least || !std::isfinite(wanted)) return ClassId();
  const ClassId zero = terms.Filled(dtype, {}, 0);
  const ClassId number = terms.Filled(dtype, {}, std::max(wanted, *least));
  return shown ? terms.Op("Where", {condition, zero, number})
               : terms.Op("Where", {condition, number, zero});
}

// Whether each row of a mask that is added has an element above the lowest number.
bool ShowsKeys(const ClassData& mask) {
  return mask.facts.softmax_safe() && mask.facts.row_floor > -ops::LargestOf(mask.type.dtype);
}
bool HidesNoKey(const ClassData& mask) {
  return mask.facts.softmax_safe() && mask.facts.values.low > -ops::LargestOf(mask.type.dtype);
}

// The mask with a number above the lowest in its place. Invalid where an element may be -infinity.
ClassId WithoutLowest(Terms& terms, ClassId mask) {
  const ClassData& data = terms.data(mask);
  if (ShowsKeys(data)) return mask;
  const std::optional<double> least = LeastAboveLowest(data.type.dtype);
  if (!least || !(data.facts.values.low > -ops::Interval::kInfinity)) return ClassId();
  return terms.Op("Max", {mask, terms.Filled(data.type.dtype, {}, *least)});
}

// kWhere: where the condition is false, scores are hidden. kUnless: where it is true.
enum class Mask { kNone, kAdded, kWhere, kUnless };

// args: s, q, t, [c,] v [, b | , m, l]
template <char kScaling, Mask kMask>
ClassId JoinedParts(Terms& terms, std::span<const Binding> args) {
  if (!terms.Allows("Attention")) return ClassId();
  Parts parts;
  parts.queries = args[1].id;
  parts.columns = args[2].id;
  size_t next = 3;
  if (kScaling != 0) {
    const std::optional<double> number = ScalarOf(terms, args[next++].id);
    if (!number) return ClassId();
    parts.scale = static_cast<float>(kScaling == '/' ? 1 / *number : *number);
  }
  parts.values = args[next++].id;
  if (kMask == Mask::kAdded) parts.mask = WithoutLowest(terms, args[next].id);
  if (kMask == Mask::kWhere || kMask == Mask::kUnless) {
    parts.mask = MaskOf(terms, args[next].id, kMask == Mask::kWhere, args[next + 1].id);
  }
  return Joined(terms, terms.word(args[0].op), parts);
}

// --- It becomes its parts

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
  const ClassId columns = terms.Transpose(Repeated(terms, args[2].id, heads, *sharing), kLastTwo);
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

void AddWords(Words& words) {
  // No row of a mask that is added to scores may hide all keys.
  words.Guard("shows_keys", "c", [](const View& view, auto args) {
    return view.data(args[0].id).facts.softmax_safe();
  });
  // l is one number, so low that a score in its place has no weight beside others; x tells the
  // type.
  words.Guard("lowest", "cc", [](const View& view, auto args) {
    const ClassData& low = view.data(args[0].id);
    const model::DType dtype = view.type(args[1].id).dtype;
    if (!low.constant || !IsScalar(low.type, 3) || low.type.dtype != dtype) return false;
    return Hides(low.constant->GetDouble(0), dtype);
  });
  words.Term("attention", "occc", JoinedParts<0, Mask::kNone>);
  words.Term("attention_mul", "occcc", JoinedParts<'*', Mask::kNone>);
  words.Term("attention_div", "occcc", JoinedParts<'/', Mask::kNone>);
  words.Term("attention_masked", "occcc", JoinedParts<0, Mask::kAdded>);
  words.Term("attention_mul_masked", "occccc", JoinedParts<'*', Mask::kAdded>);
  words.Term("attention_div_masked", "occccc", JoinedParts<'/', Mask::kAdded>);
  words.Term("attention_where", "occccc", JoinedParts<0, Mask::kWhere>);
  words.Term("attention_mul_where", "occcccc", JoinedParts<'*', Mask::kWhere>);
  words.Term("attention_div_where", "occcccc", JoinedParts<'/', Mask::kWhere>);
  words.Term("attention_unless", "occccc", JoinedParts<0, Mask::kUnless>);
  words.Term("attention_mul_unless", "occcccc", JoinedParts<'*', Mask::kUnless>);
  words.Term("attention_div_unless", "occcccc", JoinedParts<'/', Mask::kUnless>);
  words.Term("attention_parts", "occcl", Taken);
}

}  // namespace

Family AttentionFamily() { return {"attention", kText, AddWords, nullptr}; }

}  // namespace quotient::rules
