// Rules about RotaryEmbedding, which ONNX has since opset 23: what exporters write for it becomes
// one operator, and it is taken apart again for what runs it faster in parts. A Transpose moves
// behind it, so that Attention can do without an axis of heads (attention_forms.cc).

#include <optional>
#include <utility>
#include <vector>

#include "core/base/checked.h"
#include "core/domain/slices.h"
#include "core/rules/family.h"
#include "core/rules/types.h"

namespace quotient::rules {
namespace {

constexpr char kText[] = R"(
# x [c, c] + [-b, a] [s, s] = RotaryEmbedding(x; c, s), x = [a, b]
rotary: ?z = Add(Mul(?x, ?c), Mul(Concat[?o](Neg(Slice[?u](?x)), Slice[?l](?x)), ?s))
  => rotary(?o, ?u, ?l, ?x, ?c, ?s) if activation(?x) and single(?x) and smooth(?z)
# [RotaryEmbedding(a), b] = RotaryEmbedding(x) of some columns, x = [a, b]
rotary-columns: Concat[?o](RotaryEmbedding[?r](Slice[?u](?x), ?c, ?s, ?i...), Slice[?l](?x))
  => rotary_columns(?o, ?r, ?u, ?l, ?x, ?c, ?s, ?i)
# RotaryEmbedding(x') = RotaryEmbedding(x)', ' the exchange of rows and heads
rotary-packed: RotaryEmbedding[?r](Transpose[?p](?x), ?c, ?s, ?i...)
  => rotary_packed(?r, ?p, ?x, ?c, ?s, ?i)
# RotaryEmbedding(x) = RotaryEmbedding(x')', ' the exchange of rows and an axis of heads
rotary-unpacked: ?z = RotaryEmbedding[?r](?x, ?c, ?s, ?i...)
  => rotary_unpacked(?r, ?x, ?c, ?s, ?i, ?z)
# RotaryEmbedding(x; c, s) = x [c, c] + [-b, a] [s, s], x = [a, b]
rotary-parts: ?z = RotaryEmbedding[?r](?x, ?c, ?s, ?i...) => rotary_parts(?r, ?x, ?c, ?s, ?i)
  if smooth(?z)
)";

// Constants with more elements are not read.
constexpr int64_t kMostCacheElements = 1 << 20;

const Ints kRowsAndHeads = {0, 2, 1, 3};

// --- The parts become one

bool IsSlice(const OpWord& word, const TensorType& x, const domain::SliceRange& range) {
  return domain::ReadSlice(word.attributes, x) == range;
}

bool JoinsAlong(const OpWord& concat, int rank, int64_t axis) {
  const int64_t own = concat.attributes.GetInt("axis", 0);
  return own == axis || own == axis - rank;
}

// Whether both halves of the last axis are the same.
bool RepeatsHalves(const model::Tensor& tensor) {
  if (tensor.elements() > kMostCacheElements || tensor.elements() == 0) return false;
  const int64_t columns = tensor.dims().back();
  const std::vector<double> values = tensor.AsDoubles();
  for (int64_t i = 0; i < tensor.elements(); ++i) {
    const bool is_left = i % columns < columns / 2;
    if (is_left && !(values[i] == values[i + columns / 2])) return false;
  }
  return true;
}

// The cache [batch, rows, pairs] that c, [.., 1, rows, columns] with equal halves, has for x.
ClassId CacheOf(Terms& terms, ClassId c, const TensorType& x) {
  const ClassData& data = terms.data(c);
  const TensorType type = data.type;
  const int64_t columns = *NumberAt(x, 3);
  if (!data.constant || type.rank() < 2 || !KeepsShape(x, type) || type.dtype != x.dtype ||
      !type.dim(type.rank() - 1).Is(columns) ||
      !model::SameDim(type.dim(type.rank() - 2), x.dim(2)) || !RepeatsHalves(*data.constant) ||
      (type.rank() > 2 && !type.dim(type.rank() - 3).Is(1))) {
    return ClassId();
  }
  ClassId cache = terms.Slice(c, {.axis = type.rank() - 1, .begin = 0, .end = columns / 2});
  if (type.rank() == 2) cache = terms.Op("Unsqueeze", {cache}, {{"axes", Ints{0}}});
  if (type.rank() == 4) cache = terms.Op("Squeeze", {cache}, {{"axes", Ints{1}}});
  const bool has_batch = type.rank() == 4 && model::SameDim(type.dim(0), x.dim(0));
  if (has_batch || x.dim(0).Is(1)) return cache;
  if (!x.dim(0).is_number()) return ClassId();
  return terms.Op("Expand", {cache}, {{"shape", Ints{x.dim(0).number(), 1, 1}}});
}

// args: o, u, l, x, c, s
ClassId Rotary(Terms& terms, std::span<const Binding> args) {
  if (!terms.Allows("RotaryEmbedding")) return ClassId();
  const ClassId x = args[3].id;
  const TensorType type = terms.type(x);
  const std::optional<int64_t> columns = NumberAt(type, 3);
  if (!columns || type.rank() != 4 || *columns % 2 != 0 || !MayHaveElements(type) ||
      !JoinsAlong(terms.word(args[0].op), 4, 3) ||
      !IsSlice(terms.word(args[1].op), type, {.axis = 3, .begin = *columns / 2, .end = *columns}) ||
      !IsSlice(terms.word(args[2].op), type, {.axis = 3, .begin = 0, .end = *columns / 2})) {
    return ClassId();
  }
  return terms.Op("RotaryEmbedding",
                  {x, CacheOf(terms, args[4].id, type), CacheOf(terms, args[5].id, type)});
}

std::vector<ClassId> Operands(ClassId x, ClassId c, ClassId s, std::span<const ClassId> positions) {
  std::vector<ClassId> operands = {x, c, s};
  operands.insert(operands.end(), positions.begin(), positions.end());
  return operands;
}

// args: o, r, u, l, x, c, s, i
ClassId RotaryColumns(Terms& terms, std::span<const Binding> args) {
  AttributeMap attributes = terms.word(args[1].op).attributes;
  const TensorType type = terms.type(args[4].id);
  const std::optional<int64_t> columns = NumberAt(type, 3);
  const std::optional<int64_t> pairs = NumberAt(terms.type(args[5].id), -1);
  if (!columns || type.rank() != 4 || !pairs || 2 * *pairs >= *columns ||
      attributes.Has("rotary_embedding_dim") || !JoinsAlong(terms.word(args[0].op), 4, 3) ||
      !IsSlice(terms.word(args[2].op), type, {.axis = 3, .begin = 0, .end = 2 * *pairs}) ||
      !IsSlice(terms.word(args[3].op), type, {.axis = 3, .begin = 2 * *pairs, .end = *columns})) {
    return ClassId();
  }
  attributes.Set("rotary_embedding_dim", 2 * *pairs);
  return terms.Op("RotaryEmbedding", Operands(args[4].id, args[5].id, args[6].id, args[7].list),
                  std::move(attributes));
}

// --- With an axis of heads, or without

// args: r, p, x, c, s, i
ClassId RotaryPacked(Terms& terms, std::span<const Binding> args) {
  const ClassId x = args[2].id;
  const TensorType type = terms.type(x);
  const std::optional<int64_t> heads = NumberAt(type, 2);
  const std::optional<int64_t> columns = NumberAt(type, 3);
  if (terms.word(args[1].op).attributes.GetInts("perm") != kRowsAndHeads || !heads || !columns) {
    return ClassId();
  }
  const std::optional<int64_t> width = CheckedMul(*heads, *columns);
  if (!width) return ClassId();
  const TensorType wide(type.dtype, {type.dim(0), type.dim(1), *width});
  AttributeMap attributes = terms.word(args[0].op).attributes;
  attributes.Set("num_heads", *heads);
  const ClassId turned = terms.Op(
      "RotaryEmbedding", Operands(terms.ReshapeTo(x, wide), args[3].id, args[4].id, args[5].list),
      std::move(attributes));
  const ClassId parted = terms.ReshapeTo(turned, type);
  return parted.valid() ? terms.Transpose(parted, kRowsAndHeads) : ClassId();
}

// args: r, x, c, s, i, z
ClassId RotaryUnpacked(Terms& terms, std::span<const Binding> args) {
  AttributeMap attributes = terms.word(args[0].op).attributes;
  const int64_t heads = attributes.GetInt("num_heads", 0);
  const TensorType type = terms.type(args[1].id);
  const std::optional<int64_t> width = NumberAt(type, 2);
  if (!width || type.rank() != 3 || heads < 1 || *width % heads != 0) return ClassId();
  const TensorType parted(type.dtype, {type.dim(0), type.dim(1), heads, *width / heads});
  const ClassId reshaped = terms.ReshapeTo(args[1].id, parted);
  if (!reshaped.valid()) return ClassId();
  attributes.Erase("num_heads");
  const ClassId turned = terms.Op(
      "RotaryEmbedding",
      Operands(terms.Transpose(reshaped, kRowsAndHeads), args[2].id, args[3].id, args[4].list),
      std::move(attributes));
  if (!turned.valid()) return ClassId();
  return terms.ReshapeTo(terms.Transpose(turned, kRowsAndHeads), terms.type(args[5].id));
}

// --- It becomes its parts

// The cosines or sines of each row, [batch, 1, rows, pairs].
ClassId Angles(Terms& terms, ClassId cache, std::span<const ClassId> positions) {
  if (!positions.empty()) cache = terms.Op("Gather", {cache, positions[0]});
  return terms.Op("Unsqueeze", {cache}, {{"axes", Ints{1}}});
}

struct Turning {
  ClassId columns, cosines, sines;
};

ClassId LastColumns(Terms& terms, ClassId x, int64_t begin, int64_t end) {
  return terms.Slice(x, {.axis = terms.type(x).rank() - 1, .begin = begin, .end = end});
}

// x c + [-b, a] s, x = [a, b] along the last axis.
ClassId Turned(Terms& terms, const Turning& turning, int64_t pairs) {
  const ClassId x = turning.columns;
  const int64_t last = terms.type(x).rank() - 1;
  const ClassId a = LastColumns(terms, x, 0, pairs);
  const ClassId b = LastColumns(terms, x, pairs, 2 * pairs);
  const ClassId across[] = {terms.Op("Neg", {b}), a};
  return terms.Op("Add", {terms.Op("Mul", {x, turning.cosines}),
                          terms.Op("Mul", {terms.Concat(across, last), turning.sines})});
}

// [c, c] along the last axis.
ClassId Doubled(Terms& terms, ClassId c) {
  const ClassId halves[] = {c, c};
  return c.valid() ? terms.Concat(halves, terms.type(c).rank() - 1) : c;
}

// The same for neighbours: x is [.., pairs, 2].
ClassId TurnedNeighbours(Terms& terms, const Turning& turning, int64_t pairs) {
  const TensorType type = terms.type(turning.columns);
  TensorType paired = type;
  paired.shape->back() = pairs;
  paired.shape->push_back(2);
  const auto of_pairs = [&](ClassId angles) {
    return Doubled(terms, terms.Op("Unsqueeze", {angles}, {{"axes", Ints{4}}}));
  };
  const ClassId x = terms.ReshapeTo(turning.columns, paired);
  if (!x.valid()) return x;
  return terms.ReshapeTo(Turned(terms, {x, of_pairs(turning.cosines), of_pairs(turning.sines)}, 1),
                         type);
}

// args: r, x, c, s, i
ClassId RotaryParts(Terms& terms, std::span<const Binding> args) {
  const AttributeMap& attributes = terms.word(args[0].op).attributes;
  const ClassId x = args[1].id;
  const TensorType type = terms.type(x);
  const std::optional<int64_t> columns = NumberAt(type, 3);
  if (!columns || type.rank() != 4) return ClassId();
  const int64_t turned = attributes.GetInt("rotary_embedding_dim", *columns);
  if (turned == 0) return ClassId();
  Turning turning{LastColumns(terms, x, 0, turned), Angles(terms, args[2].id, args[4].list),
                  Angles(terms, args[3].id, args[4].list)};
  for (const ClassId angles : {turning.cosines, turning.sines}) {
    if (!turning.columns.valid() || !angles.valid() || !NumberAt(terms.type(angles), 3) ||
        !KeepsShape(type, TensorType(type.dtype, {terms.type(angles).dim(0), model::Dim(1),
                                                  terms.type(angles).dim(2), model::Dim(1)}))) {
      return ClassId();
    }
  }
  ClassId result;
  if (attributes.GetInt("interleaved", 0) != 0) {
    result = TurnedNeighbours(terms, turning, turned / 2);
  } else {
    turning.cosines = Doubled(terms, turning.cosines);
    turning.sines = Doubled(terms, turning.sines);
    result = Turned(terms, turning, turned / 2);
  }
  if (turned == *columns) return result;
  const ClassId parts[] = {result, LastColumns(terms, x, turned, *columns)};
  return terms.Concat(parts, 3);
}

void AddWords(Words& words) {
  words.Term("rotary", "oooccc", Rotary);
  words.Term("rotary_columns", "oooocccl", RotaryColumns);
  words.Term("rotary_packed", "oocccl", RotaryPacked);
  words.Term("rotary_unpacked", "occclc", RotaryUnpacked);
  words.Term("rotary_parts", "occcl", RotaryParts);
}

}  // namespace

Family RotaryFamily() { return {"rotary", kText, AddWords, nullptr}; }

}  // namespace quotient::rules
