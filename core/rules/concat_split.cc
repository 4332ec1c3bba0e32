// Rules about Concat and Slice, which also represents Split: they cancel, compose, and exchange
// places with other operators.

#include "core/rules/concat_split.h"

#include "core/rules/types.h"

namespace quotient::rules {
namespace {

constexpr char kText[] = R"(
# Concat(x) = x
concat-single: Concat(?x) => ?x
# Slice(x; all of it) = x
slice-whole: ?y = Slice[?s](?x) => ?x if takes_all(?s, ?x)
# Slice(Slice(x)) = Slice(x), along one axis
slice-slice: Slice[?s](Slice[?t](?x)) => slice_twice(?s, ?t, ?x)
# Slice(Transpose(x)) = Transpose(Slice(x))
slice-transpose: Slice[?s](Transpose[?p](?x)) => transpose_sliced(?s, ?p, ?x) if activation(?x)
# Slice(Reshape(x)) = Reshape(Slice(x)), if the axis is the outermost part of one of x
slice-reshape: ?y = Slice[?s](Reshape[?r](?x)) => reshape_sliced(?s, ?r, ?x, ?y) if activation(?x)
# Slice(x + c) = Slice(x) + Slice(c), and the same for a product
slice-add: Slice[?s](Add(?x, ?c)) => Add(sliced(?s, ?x), sliced_operand(?s, ?x, ?c))
  if weight(?c) and activation(?x) and keeps(?x, ?c)
# Slice(x c) = Slice(x) c, c sliced alike
slice-mul: Slice[?s](Mul(?x, ?c)) => Mul(sliced(?s, ?x), sliced_operand(?s, ?x, ?c))
  if weight(?c) and activation(?x) and keeps(?x, ?c)
# Slice(x W) = x Slice(W), along the columns
slice-matmul: Slice[?s](MatMul(?x, ?w)) => matmul_sliced(?s, ?x, ?w)
  if weight(?w) and activation(?x) and has_rank(?w, 2)
# Slice(f(x)) = f(Slice(x)): see slice-of-unary

# Gather(x; i) = Slice(x; i, i + 1) without the axis; i constant, a number or neighbours
gather-slice: Gather[?g](?x, ?i) => gather_slice(?g, ?x, ?i)
  if constant(?i) and activation(?x) and float(?x)
)";

// --- Words ---

ClassId SliceTwice(Terms& terms, std::span<const Binding> args) {
  const ClassId x = args[2].id;
  const std::optional<SliceRange> inner = Range(terms.word(args[1].op), terms.type(x));
  if (!inner) return ClassId();
  model::TensorType middle = terms.type(x);
  (*middle.shape)[inner->axis] = inner->size();
  const std::optional<SliceRange> outer = Range(terms.word(args[0].op), middle);
  if (!outer || outer->axis != inner->axis) return ClassId();
  return terms.Slice(x, {inner->axis, inner->begin + outer->begin, inner->begin + outer->end});
}

// The type of Transpose(x).
model::TensorType Permuted(const TensorType& x, const Ints& perm) {
  model::Shape shape;
  for (const int64_t axis : perm) shape.push_back(x.dim(static_cast<int>(axis)));
  return {x.dtype, std::move(shape)};
}

ClassId TransposeSliced(Terms& terms, std::span<const Binding> args) {
  const ClassId x = args[2].id;
  const Ints* perm = terms.word(args[1].op).attributes.FindInts("perm");
  const TensorType& type = terms.type(x);
  if (perm == nullptr || !type.has_rank() || static_cast<size_t>(type.rank()) != perm->size()) {
    return ClassId();
  }
  const auto range = Range(terms.word(args[0].op), Permuted(type, *perm));
  if (!range) return ClassId();
  const Ints order = *perm;
  return terms.Transpose(terms.Slice(x, {order[range->axis], range->begin, range->end}), order);
}

ClassId ReshapeSliced(Terms& terms, std::span<const Binding> args) {
  const ClassId x = args[2].id;
  // The e-node is there already; its class tells the sizes.
  const ClassId whole = terms.Op("Reshape", {x}, terms.word(args[1].op).attributes);
  if (!whole.valid() || !terms.type(whole).has_rank() || !terms.type(x).has_rank()) {
    return ClassId();
  }
  const TensorType reshaped = terms.type(whole);
  const auto groups = GroupAxes(*reshaped.shape, *terms.type(x).shape);
  const auto range = Range(terms.word(args[0].op), reshaped);
  if (!groups || !range) return ClassId();
  for (size_t axis = 0; axis < groups->size(); ++axis) {
    int64_t before = 1;
    int64_t behind = 1;
    bool found = false;
    bool is_known = true;
    for (const int64_t part : (*groups)[axis]) {
      const model::Dim& size = reshaped.dim(static_cast<int>(part));
      is_known &= size.is_number();
      const bool counts = size.is_number() && part != range->axis;
      (found ? behind : before) *= counts ? size.number() : 1;
      found |= part == range->axis;
    }
    if (!found) continue;
    if (!is_known || before != 1) return ClassId();
    const SliceRange own{static_cast<int64_t>(axis), range->begin * behind, range->end * behind};
    return terms.ReshapeTo(terms.Slice(x, own), terms.type(args[3].id));
  }
  return ClassId();
}

ClassId MatMulSliced(Terms& terms, std::span<const Binding> args) {
  const TensorType& x = terms.type(args[1].id);
  const auto columns = NumberAt(terms.type(args[2].id), 1);
  if (!x.has_rank() || x.rank() < 2 || !columns) return ClassId();
  TensorType product = x;
  product.shape->back() = *columns;
  const auto range = Range(terms.word(args[0].op), product);
  if (!range || range->axis != x.rank() - 1) return ClassId();
  return terms.Op("MatMul", {args[1].id, terms.Slice(args[2].id, {1, range->begin, range->end})});
}

// args: g, x, i. The indices must be a single number, or consecutive numbers in rising order.
ClassId GatherSlice(Terms& terms, std::span<const Binding> args) {
  const TensorType& x = terms.type(args[1].id);
  const model::Tensor& index = *terms.data(args[2].id).constant;
  if (!x.has_rank() || index.rank() > 1 || index.elements() == 0 || index.elements() > 1 << 16) {
    return ClassId();
  }
  int64_t axis = terms.word(args[0].op).attributes.GetInt("axis", 0);
  if (axis < 0) axis += x.rank();
  const auto size = NumberAt(x, static_cast<int>(axis));
  if (!size) return ClassId();
  const int64_t first = index.GetInt(0) < 0 ? index.GetInt(0) + *size : index.GetInt(0);
  for (int64_t i = 0; i < index.elements(); ++i) {
    const int64_t at = index.GetInt(i) < 0 ? index.GetInt(i) + *size : index.GetInt(i);
    if (at != first + i || at < 0 || at >= *size) return ClassId();
  }
  const ClassId slice = terms.Slice(args[1].id, {axis, first, first + index.elements()});
  return index.rank() == 1 ? slice : terms.Op("Squeeze", {slice}, {{"axes", Ints{axis}}});
}

void AddWords(Words& words) {
  words.Guard("takes_all", "oc", Purpose::kEquation, [](const View& view, auto args) {
    const TensorType& x = view.type(args[1].id);
    const auto range = Range(view.word(args[0].op), x);
    return range && range->begin == 0 && x.dim(static_cast<int>(range->axis)).Is(range->end);
  });
  words.Term("slice_twice", "ooc", SliceTwice);
  words.Term("transpose_sliced", "ooc", TransposeSliced);
  words.Term("reshape_sliced", "oocc", ReshapeSliced);
  words.Term("sliced", "oc", [](Terms& terms, auto args) {
    const auto range = Range(terms.word(args[0].op), terms.type(args[1].id));
    return range ? terms.Slice(args[1].id, *range) : ClassId();
  });
  words.Term("sliced_operand", "occ", [](Terms& terms, auto args) {
    const TensorType& x = terms.type(args[1].id);
    const auto range = Range(terms.word(args[0].op), x);
    return range ? SlicedOperand(terms, *range, x.rank(), args[2].id) : ClassId();
  });
  words.Term("matmul_sliced", "occ", MatMulSliced);
  words.Term("gather_slice", "occ", GatherSlice);
}

void AddRules(TensorDomain* domain, RuleList& rules) {
  for (const auto& rows :
       {ConcatGeometryRows(), ConcatUnaryRows(), ConcatBinaryRows(), ConcatContractionRows()}) {
    for (const SiteRow& row : rows) {
      rules.push_back(std::make_unique<SiteRule>(domain, row.name, row.equation,
                                                 std::span(&row.anchor, 1), row.search, row.build,
                                                 row.for_classes));
    }
  }
}

}  // namespace

Family ConcatSplitFamily() { return {"concat_split", kText, AddWords, AddRules}; }

}  // namespace quotient::rules
