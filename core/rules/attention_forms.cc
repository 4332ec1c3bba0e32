// Rules that choose among the forms of one Attention: with an axis of heads or without, with fewer
// heads of keys and values, and by the order of keys instead of a mask.

#include <optional>
#include <utility>
#include <vector>

#include "core/base/checked.h"
#include "core/rules/attention_masks.h"
#include "core/rules/family.h"
#include "core/rules/types.h"

namespace quotient::rules {
namespace {

constexpr char kText[] = R"(
# Attention(q, k, v, b) = Attention(q, k, v; causal), b hides the keys behind each query
attention-causal: ?z = Attention[?a](?q, ?k, ?v, ?b) => attention_causal(?a, ?q, ?k, ?v)
  if constant(?b) and hides_later_keys(?b, ?q, ?k) and smooth(?z)
# Attention(q, k, v) = Attention(q, u, w), k and v the heads of u and w repeated
attention-groups:
  Attention[?a](?q, Reshape[?r](Expand[?e](?u)), Reshape[?p](Expand[?f](?w)), ?m...)
  => attention_groups(?a, ?q, ?r, ?e, ?u, ?p, ?f, ?w, ?m)
# Attention(q', k', v')' = Attention(q, k, v), ' the exchange of rows and heads: heads need no axis
attention-packed: Transpose[?p](
    Attention[?a](Transpose[?p](?q), Transpose[?p](?k), Transpose[?p](?v), ?m...))
  => attention_packed(?p, ?a, ?q, ?k, ?v, ?m)
# Attention(q, k, v) = Attention(q', k', v')', ' the exchange of rows and an axis of heads
attention-unpacked: ?z = Attention[?a](?q, ?k, ?v, ?m...)
  => attention_unpacked(?a, ?q, ?k, ?v, ?m, ?z)
)";

const Ints kRowsAndHeads = {0, 2, 1, 3};

std::vector<ClassId> Operands(ClassId q, ClassId k, ClassId v, std::span<const ClassId> mask) {
  std::vector<ClassId> operands = {q, k, v};
  operands.insert(operands.end(), mask.begin(), mask.end());
  return operands;
}

// Whether a mask hides all keys behind that of a query, and no others. The rows of queries and keys
// are the axis before the last, with an axis of heads or without.
bool HidesLaterKeys(const ClassData& mask, const TensorType& queries, const TensorType& keys_type) {
  const model::Tensor& values = *mask.constant;
  if (values.rank() < 2 || values.elements() == 0 || values.elements() > kMostMaskElements) {
    return false;
  }
  const int64_t rows = values.dims()[values.rank() - 2];
  const int64_t keys = values.dims().back();
  if (NumberAt(queries, -2) != rows || NumberAt(keys_type, -2) != keys) return false;
  const bool is_bool = values.dtype() == model::DType::kBool;
  if (!is_bool && values.dtype() != queries.dtype) return false;
  for (int64_t i = 0; i < values.elements(); ++i) {
    const bool is_later = i % keys > i / keys % rows;
    const double value = values.GetDouble(i);
    const bool fits = is_bool    ? (value == 0) == is_later
                      : is_later ? Hides(value, queries.dtype)
                                 : value == 0;
    if (!fits) return false;
  }
  return true;
}

// args: a, q, k, v
ClassId Causal(Terms& terms, std::span<const Binding> args) {
  AttributeMap attributes = terms.word(args[0].op).attributes;
  attributes.Set("is_causal", int64_t{1});
  return terms.Op("Attention", {args[1].id, args[2].id, args[3].id}, std::move(attributes));
}

// Heads of which each is repeated a number of times by Expand and Reshape: u is [b, h, 1, n, d].
// Invalid if the Expand repeats anything else.
ClassId Unrepeated(Terms& terms, const OpWord& reshape, const OpWord& expand, ClassId u) {
  const TensorType type = terms.type(u);
  const Ints* const shape = expand.attributes.FindInts("shape");
  if (shape == nullptr || shape->size() != 5 || !type.has_rank() || type.rank() != 5 ||
      !type.dim(2).Is(1) || !type.dim(1).is_number() || (*shape)[2] < 2) {
    return ClassId();
  }
  for (const int axis : {0, 1, 3, 4}) {
    if ((*shape)[axis] != 1 && !type.dim(axis).Is((*shape)[axis])) return ClassId();
  }
  const ClassId repeated =
      terms.Op("Reshape", {terms.Op("Expand", {u}, expand.attributes)}, reshape.attributes);
  const std::optional<int64_t> heads = CheckedMul(type.dim(1).number(), (*shape)[2]);
  if (!repeated.valid() || !heads) return ClassId();
  const TensorType& whole = terms.type(repeated);
  if (!whole.has_rank() || whole.rank() != 4 || !model::SameDim(whole.dim(0), type.dim(0)) ||
      NumberAt(whole, 1) != *heads || !model::SameDim(whole.dim(2), type.dim(3)) ||
      !model::SameDim(whole.dim(3), type.dim(4))) {
    return ClassId();
  }
  return terms.Op("Squeeze", {u}, {{"axes", Ints{2}}});
}

// args: a, q, r, e, u, p, f, w, m
ClassId Grouped(Terms& terms, std::span<const Binding> args) {
  const ClassId keys =
      Unrepeated(terms, terms.word(args[2].op), terms.word(args[3].op), args[4].id);
  const ClassId values =
      Unrepeated(terms, terms.word(args[5].op), terms.word(args[6].op), args[7].id);
  return terms.Op("Attention", Operands(args[1].id, keys, values, args[8].list),
                  terms.word(args[0].op).attributes);
}

// The heads of x beside each other, [b, n, h d] for [b, n, h, d].
ClassId Packed(Terms& terms, ClassId x) {
  const TensorType& type = terms.type(x);
  const std::optional<int64_t> heads = NumberAt(type, 2);
  const std::optional<int64_t> columns = NumberAt(type, 3);
  if (!heads || !columns || type.rank() != 4) return ClassId();
  const std::optional<int64_t> width = CheckedMul(*heads, *columns);
  if (!width) return ClassId();
  return terms.ReshapeTo(x, TensorType(type.dtype, {type.dim(0), type.dim(1), *width}));
}

// args: p, a, q, k, v, m
ClassId PackedAttention(Terms& terms, std::span<const Binding> args) {
  if (terms.word(args[0].op).attributes.GetInts("perm") != kRowsAndHeads) return ClassId();
  const ClassId q = args[2].id, k = args[3].id, v = args[4].id;
  const ClassId operands[] = {Packed(terms, q), Packed(terms, k), Packed(terms, v)};
  for (const ClassId operand : operands) {
    if (!operand.valid()) return ClassId();
  }
  AttributeMap attributes = terms.word(args[1].op).attributes;
  attributes.Set("q_num_heads", *NumberAt(terms.type(q), 2));
  attributes.Set("kv_num_heads", *NumberAt(terms.type(k), 2));
  const ClassId packed =
      terms.Op("Attention", Operands(operands[0], operands[1], operands[2], args[5].list),
               std::move(attributes));
  const TensorType from = terms.type(q);
  return terms.ReshapeTo(packed, TensorType(from.dtype, {from.dim(0), from.dim(1), from.dim(2),
                                                         terms.type(v).dim(3)}));
}

// The heads of x as an axis, [b, h, n, d] for [b, n, h d].
ClassId Unpacked(Terms& terms, ClassId x, int64_t heads) {
  const TensorType& type = terms.type(x);
  const std::optional<int64_t> width = NumberAt(type, 2);
  if (type.rank() != 3 || !width || heads < 1 || *width % heads != 0) return ClassId();
  const TensorType parted(type.dtype, {type.dim(0), type.dim(1), heads, *width / heads});
  const ClassId reshaped = terms.ReshapeTo(x, parted);
  return reshaped.valid() ? terms.Transpose(reshaped, kRowsAndHeads) : ClassId();
}

// args: a, q, k, v, m, z
ClassId UnpackedAttention(Terms& terms, std::span<const Binding> args) {
  AttributeMap attributes = terms.word(args[0].op).attributes;
  const int64_t heads = attributes.GetInt("q_num_heads", 0);
  const int64_t shared = attributes.GetInt("kv_num_heads", 0);
  for (size_t i = 1; i <= 3; ++i) {
    if (!terms.type(args[i].id).has_rank()) return ClassId();
  }
  attributes.Erase("q_num_heads");
  attributes.Erase("kv_num_heads");
  const ClassId q = Unpacked(terms, args[1].id, heads);
  const ClassId unpacked = terms.Op("Attention",
                                    Operands(q, Unpacked(terms, args[2].id, shared),
                                             Unpacked(terms, args[3].id, shared), args[4].list),
                                    std::move(attributes));
  if (!unpacked.valid()) return ClassId();
  return terms.ReshapeTo(terms.Transpose(unpacked, kRowsAndHeads), terms.type(args[5].id));
}

void AddWords(Words& words) {
  words.Guard("hides_later_keys", "ccc", Purpose::kEquation, [](const View& view, auto args) {
    return HidesLaterKeys(view.data(args[0].id), view.type(args[1].id), view.type(args[2].id));
  });
  words.Term("attention_causal", "occc", Causal);
  words.Term("attention_groups", "ocoocoocl", Grouped);
  words.Term("attention_packed", "oocccl", PackedAttention);
  words.Term("attention_unpacked", "occclc", UnpackedAttention);
}

}  // namespace

Family AttentionFormsFamily() { return {"attention_forms", kText, AddWords, nullptr}; }

}  // namespace quotient::rules
