// Rules by which the parts of an Attention, which ONNX has since opset 23, become one operator.
//
// Where a mask hides all keys of a query, Attention is 0, but a Softmax of -infinity is NaN, and
// one of the lowest number everywhere is a mean.

#include <algorithm>
#include <cmath>
#include <limits>
#include <optional>
#include <utility>
#include <vector>

#include "core/rules/attention_masks.h"
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
)";

const Ints kLastTwo = {0, 1, 3, 2};

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

void AddWords(Words& words) {
  // No row of a mask that is added to scores may hide all keys.
  words.Guard("shows_keys", "c", Purpose::kNonFinite, [](const View& view, auto args) {
    return view.data(args[0].id).facts.softmax_safe();
  });
  // l is one number, so low that a score in its place has no weight beside others; x tells the
  // type.
  words.Guard("lowest", "cc", Purpose::kEquation, [](const View& view, auto args) {
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
}

}  // namespace

Family AttentionFamily() { return {"attention", kText, AddWords, nullptr}; }

}  // namespace quotient::rules
