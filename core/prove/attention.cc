// Attention: softmax(scale q k' + mask) v; and RotaryEmbedding, which turns pairs of columns.

#include <array>
#include <cmath>
#include <optional>

#include "core/prove/families.h"

namespace quotient::prove {
namespace {

constexpr size_t kQueries = 0, kKeys = 1, kValues = 2, kMask = 3;

// The tensor as [batch, heads, rows, columns].
FieldTensor WithHeads(const FieldTensor& x, int64_t heads) {
  if (x.rank() == 4) return x;
  const int64_t columns = x.dims[2] / heads;
  return Filled({x.dims[0], heads, x.dims[1], columns}, [&](const Ints& index) {
    return x.elements[Offset({index[0], index[2], index[1] * columns + index[3]}, x.dims)];
  });
}

// [batch, heads, rows, columns] as [batch, rows, heads x columns].
FieldTensor WithoutHeads(const FieldTensor& x, const Ints& dims) {
  const int64_t columns = x.dims[3];
  return Filled(dims, [&](const Ints& index) {
    return x.elements[Offset({index[0], index[2] / columns, index[1], index[2] % columns}, x.dims)];
  });
}

struct Heads {
  explicit Heads(const Operation& operation)
      : queries(Of(operation, kQueries, "q_num_heads")),
        keys(Of(operation, kKeys, "kv_num_heads")),
        values(Of(operation, kValues, "kv_num_heads")) {}

  static FieldTensor Of(const Operation& operation, size_t input, absl::string_view name) {
    return WithHeads(operation.input(input), operation.attributes.GetInt(name, 1));
  }
  // The head of keys and values that a head of queries reads.
  int64_t Shared(int64_t head) const { return head * keys.dims[1] / queries.dims[1]; }

  FieldTensor queries, keys, values;
};

// 1 / sqrt(columns), rounded as a model would write it, unless there is an attribute.
std::optional<Element> ScaleOf(const Operation& operation, const Heads& heads) {
  const double columns = static_cast<double>(heads.queries.dims[3]);
  return FloatAttribute(operation.attributes, "scale", 1 / std::sqrt(columns));
}

absl::StatusOr<FieldTensor> EvaluateAttention(const Operation& operation) {
  const Heads heads(operation);
  const std::optional<Element> scale = ScaleOf(operation, heads);
  if (!scale) return NoValue(operation);
  const int64_t keys = heads.keys.dims[2];
  // No query sees the keys that a mask has no column for.
  const bool has_columns = operation.has(kMask) && operation.input(kMask).rank() > 0;
  const int64_t columns = has_columns ? operation.input(kMask).dims.back() : keys;
  const bool is_causal = operation.attributes.GetInt("is_causal", 0) != 0;
  const bool hides = operation.has(kMask) && operation.types.size() > kMask &&
                     operation.types[kMask] == model::DType::kBool;
  const auto score = [&](const Ints& at, int64_t key) {
    Element sum = 0;
    for (int64_t k = 0; k < heads.queries.dims[3]; ++k) {
      const Element query =
          heads.queries.elements[Offset({at[0], at[1], at[2], k}, heads.queries.dims)];
      const Ints of_key = {at[0], heads.Shared(at[1]), key, k};
      sum = Add(sum, Multiply(query, heads.keys.elements[Offset(of_key, heads.keys.dims)]));
    }
    sum = Multiply(sum, *scale);
    if (!operation.has(kMask)) return sum;
    const Element mask = Broadcast(operation.input(kMask), {at[0], at[1], at[2], key});
    return hides ? sum : Add(sum, mask);
  };
  const auto is_hidden = [&](const Ints& at, int64_t key) {
    if (key >= columns || (is_causal && key > at[2])) return true;
    return hides && Broadcast(operation.input(kMask), {at[0], at[1], at[2], key}) == 0;
  };
  bool has_values = true;
  FieldTensor result = Filled(
      {heads.queries.dims[0], heads.queries.dims[1], heads.queries.dims[2], heads.values.dims[3]},
      [&](const Ints& at) {
        Element sum = 0;
        Element whole = 0;
        bool hides_all = true;
        for (int64_t key = 0; key < keys; ++key) {
          if (is_hidden(at, key)) continue;
          hides_all = false;
          const Element weight = Open(operation, "Exp", std::array{score(at, key)});
          const Ints of_value = {at[0], heads.Shared(at[1]), key, at[3]};
          sum = Add(sum,
                    Multiply(weight, heads.values.elements[Offset(of_value, heads.values.dims)]));
          whole = Add(whole, weight);
        }
        const std::optional<Element> inverse = Inverse(whole);
        has_values &= inverse.has_value() || hides_all;
        return Multiply(sum, inverse.value_or(0));
      });
  if (!has_values) return NoValue(operation);
  if (operation.dims.size() == 4) return result;
  return WithoutHeads(result, operation.dims);
}

// --- RotaryEmbedding

constexpr size_t kCosines = 1, kSines = 2, kPositions = 3;

// The element of a cache for a pair of columns in a row of a batch.
std::optional<Element> FromCache(const Operation& operation, size_t cache, const Ints& at) {
  if (!operation.has(kPositions)) return Broadcast(operation.input(cache), at);
  const Ints& dims = operation.input(cache).dims;
  int64_t position = ToInteger(Broadcast(operation.input(kPositions), {at[0], at[1]}));
  if (position < 0) position += dims[0];
  if (position < 0 || position >= dims[0]) return std::nullopt;
  return operation.input(cache).elements[Offset({position, at[2]}, dims)];
}

// Each column is one of a pair (a, b), of neighbours or of halves, and becomes a cos - b sin or
// a sin + b cos.
absl::StatusOr<FieldTensor> EvaluateRotaryEmbedding(const Operation& operation) {
  const FieldTensor x = WithHeads(operation.input(0), operation.attributes.GetInt("num_heads", 1));
  int64_t turned = operation.attributes.GetInt("rotary_embedding_dim", 0);
  if (turned == 0) turned = x.dims[3];
  const bool neighbours = operation.attributes.GetInt("interleaved", 0) != 0;
  bool inside = true;
  const FieldTensor result = Filled(x.dims, [&](const Ints& at) {
    const int64_t column = at[3];
    if (column >= turned) return x.elements[Offset(at, x.dims)];
    const int64_t pair = neighbours ? column / 2 : column % (turned / 2);
    const bool is_first = neighbours ? column % 2 == 0 : column < turned / 2;
    const auto column_of_pair = [&](bool second) {
      const int64_t own = neighbours ? 2 * pair + second : pair + (second ? turned / 2 : 0);
      return x.elements[Offset({at[0], at[1], at[2], own}, x.dims)];
    };
    const std::optional<Element> cosine = FromCache(operation, kCosines, {at[0], at[2], pair});
    const std::optional<Element> sine = FromCache(operation, kSines, {at[0], at[2], pair});
    if (!cosine || !sine) return inside = false, Element{0};
    const Element a = column_of_pair(false), b = column_of_pair(true);
    return is_first ? Subtract(Multiply(a, *cosine), Multiply(b, *sine))
                    : Add(Multiply(a, *sine), Multiply(b, *cosine));
  });
  if (!inside) return absl::FailedPreconditionError("a position is outside");
  if (operation.dims.size() == 4) return result;
  return WithoutHeads(result, operation.dims);
}

}  // namespace

std::span<const Definition> AttentionDefinitions() {
  static constexpr Definition kDefinitions[] = {{"Attention", EvaluateAttention},
                                                {"RotaryEmbedding", EvaluateRotaryEmbedding}};
  return kDefinitions;
}

}  // namespace quotient::prove
