// Rules about Reduce operators and global pools: they move before what computes more than they
// leave, and past each other. A mean over all rows of a product is the product of the mean row,
// which an encoder that pools what it projects need not compute for every row.

#include <algorithm>
#include <optional>
#include <set>
#include <span>
#include <utility>
#include <vector>

#include "core/rules/concat_split.h"
#include "core/rules/conv_window.h"
#include "core/rules/family.h"
#include "core/rules/types.h"

namespace quotient::rules {
namespace {

constexpr char kText[] = R"(
# ReduceMean(x W) = ReduceMean(x) W, along other axes than the last one; a sum alike
reduce-of-product: ?z = ReduceMean[?r](MatMul(?x, ?w)) => reduced_product(?r, ?x, ?w)
  if weight(?w) and activation(?x) and has_rank(?w, 2) and reaches_far(?x) and smooth(?z)
reduce-of-product: ?z = ReduceSum[?r](MatMul(?x, ?w)) => reduced_product(?r, ?x, ?w)
  if weight(?w) and activation(?x) and has_rank(?w, 2) and reaches_far(?x) and smooth(?z)
# ReduceMean(x W) = x ReduceMean(W), along the last axis; a sum alike
reduce-columns: ?z = ReduceMean[?r](MatMul(?x, ?w)) => reduced_columns(?r, ?x, ?w)
  if weight(?w) and activation(?x) and has_rank(?w, 2) and reaches_far(?x) and smooth(?z)
reduce-columns: ?z = ReduceSum[?r](MatMul(?x, ?w)) => reduced_columns(?r, ?x, ?w)
  if weight(?w) and activation(?x) and has_rank(?w, 2) and reaches_far(?x) and smooth(?z)
# GlobalAveragePool(Conv(x, w)) = Conv(GlobalAveragePool(x), w), w 1x1
mean-of-conv: ?z = GlobalAveragePool[?r](Conv[?c](?x, ?w, ?b...))
  => pooled_conv(?r, ?c, ?x, ?w, ?b) if weight(?w) and reaches_far(?x) and smooth(?z)
mean-of-conv: ?z = ReduceMean[?r](Conv[?c](?x, ?w, ?b...))
  => pooled_conv(?r, ?c, ?x, ?w, ?b) if weight(?w) and reaches_far(?x) and smooth(?z)
# ReduceMean(x + c) = ReduceMean(x) + c, c the same all along the axes
mean-of-shift: ?z = ReduceMean[?r](Add(?x, ?c)) => reduced_beside(?r, Add, ?x, ?c)
  if weight(?c) and activation(?x) and keeps(?x, ?c) and shift_beside(?x, ?c) and smooth(?z)
mean-of-shift: ?z = GlobalAveragePool[?r](Add(?x, ?c)) => reduced_beside(?r, Add, ?x, ?c)
  if weight(?c) and activation(?x) and keeps(?x, ?c) and shift_beside(?x, ?c) and smooth(?z)
# ReduceMean(x c) = ReduceMean(x) c, c the same all along the axes; a sum alike
reduce-of-scale: ?z = ReduceMean[?r](Mul(?x, ?c)) => reduced_beside(?r, Mul, ?x, ?c)
  if weight(?c) and activation(?x) and keeps(?x, ?c) and reaches_far(?x) and near_one(?c)
    and smooth(?z)
reduce-of-scale: ?z = ReduceSum[?r](Mul(?x, ?c)) => reduced_beside(?r, Mul, ?x, ?c)
  if weight(?c) and activation(?x) and keeps(?x, ?c) and reaches_far(?x) and near_one(?c)
    and smooth(?z)
reduce-of-scale: ?z = GlobalAveragePool[?r](Mul(?x, ?c)) => reduced_beside(?r, Mul, ?x, ?c)
  if weight(?c) and activation(?x) and keeps(?x, ?c) and reaches_far(?x) and near_one(?c)
    and smooth(?z)
# ReduceMean(x + y) = ReduceMean(x) + ReduceMean(y), y a product, of which the mean may go first
mean-of-sum: ?z = ReduceMean[?r](Add(?x, MatMul(?h, ?w)))
  => sum_of_means(?r, rows, ?x, MatMul(?h, ?w))
  if weight(?w) and activation(?x) and reaches_far(?x) and smooth(?z)
mean-of-sum: ?z = ReduceMean[?r](Add(MatMul(?h, ?w), ?x))
  => sum_of_means(?r, rows, ?x, MatMul(?h, ?w))
  if weight(?w) and activation(?x) and reaches_far(?x) and smooth(?z)
mean-of-sum: ?z = ReduceMean[?r](Add(?x, Add(MatMul(?h, ?w), ?b)))
  => sum_of_means(?r, rows, ?x, Add(MatMul(?h, ?w), ?b))
  if weight(?w) and weight(?b) and activation(?x) and reaches_far(?x) and smooth(?z)
mean-of-sum: ?z = ReduceMean[?r](Add(Add(MatMul(?h, ?w), ?b), ?x))
  => sum_of_means(?r, rows, ?x, Add(MatMul(?h, ?w), ?b))
  if weight(?w) and weight(?b) and activation(?x) and reaches_far(?x) and smooth(?z)
mean-of-sum: ?z = ReduceMean[?r](Add(?x, Conv[?c](?h, ?w, ?b...)))
  => sum_of_means(?r, pixels, ?x, Conv[?c](?h, ?w, ?b...))
  if weight(?w) and activation(?x) and reaches_far(?x) and smooth(?z)
mean-of-sum: ?z = ReduceMean[?r](Add(Conv[?c](?h, ?w, ?b...), ?x))
  => sum_of_means(?r, pixels, ?x, Conv[?c](?h, ?w, ?b...))
  if weight(?w) and activation(?x) and reaches_far(?x) and smooth(?z)
mean-of-sum: ?z = GlobalAveragePool[?r](Add(?x, Conv[?c](?h, ?w, ?b...)))
  => sum_of_means(?r, pixels, ?x, Conv[?c](?h, ?w, ?b...))
  if weight(?w) and activation(?x) and reaches_far(?x) and smooth(?z)
mean-of-sum: ?z = GlobalAveragePool[?r](Add(Conv[?c](?h, ?w, ?b...), ?x))
  => sum_of_means(?r, pixels, ?x, Conv[?c](?h, ?w, ?b...))
  if weight(?w) and activation(?x) and reaches_far(?x) and smooth(?z)
mean-of-sum: ?z = GlobalAveragePool[?r](Add(?x, Transpose[?p](MatMul(?h, ?w))))
  => sum_of_means(?r, pixels, ?x, Transpose[?p](MatMul(?h, ?w)))
  if weight(?w) and activation(?x) and reaches_far(?x) and smooth(?z)
mean-of-sum: ?z = GlobalAveragePool[?r](Add(Transpose[?p](MatMul(?h, ?w)), ?x))
  => sum_of_means(?r, pixels, ?x, Transpose[?p](MatMul(?h, ?w)))
  if weight(?w) and activation(?x) and reaches_far(?x) and smooth(?z)
mean-of-sum: ?z = GlobalAveragePool[?r](Add(?x, Transpose[?p](Add(MatMul(?h, ?w), ?b))))
  => sum_of_means(?r, pixels, ?x, Transpose[?p](Add(MatMul(?h, ?w), ?b)))
  if weight(?w) and weight(?b) and activation(?x) and reaches_far(?x) and smooth(?z)
mean-of-sum: ?z = GlobalAveragePool[?r](Add(Transpose[?p](Add(MatMul(?h, ?w), ?b)), ?x))
  => sum_of_means(?r, pixels, ?x, Transpose[?p](Add(MatMul(?h, ?w), ?b)))
  if weight(?w) and weight(?b) and activation(?x) and reaches_far(?x) and smooth(?z)
# ReduceMean(x) + ReduceMean(y) = ReduceMean(x + y); sums alike
add-reductions: ?z = Add(ReduceMean[?r](?x), ReduceMean[?r](?y)) => ReduceMean[?r](Add(?x, ?y))
  if same(?x, ?y) and distinct(?x, ?y) and activation(?x) and activation(?y) and reaches_far(?x)
    and smooth(?z)
add-reductions: ?z = Add(ReduceSum[?r](?x), ReduceSum[?r](?y)) => ReduceSum[?r](Add(?x, ?y))
  if same(?x, ?y) and distinct(?x, ?y) and activation(?x) and activation(?y) and reaches_far(?x)
    and smooth(?z)
add-reductions: ?z = Add(GlobalAveragePool[?r](?x), GlobalAveragePool[?r](?y))
  => GlobalAveragePool[?r](Add(?x, ?y))
  if same(?x, ?y) and distinct(?x, ?y) and activation(?x) and activation(?y) and reaches_far(?x)
    and smooth(?z)

# ReduceMean(Transpose(x)) = Transpose(ReduceMean(x)); the other reductions alike
reduce-of-transpose: ?z = ReduceMean[?r](Transpose[?p](?x)) => transposed_reduced(?r, ?p, ?x)
  if float(?x) and smooth(?z)
reduce-of-transpose: ?z = ReduceSum[?r](Transpose[?p](?x)) => transposed_reduced(?r, ?p, ?x)
  if float(?x) and smooth(?z)
reduce-of-transpose: ?z = GlobalAveragePool[?r](Transpose[?p](?x)) => transposed_reduced(?r, ?p, ?x)
  if reaches_far(?x) and smooth(?z)
reduce-of-transpose: ReduceMax[?r](Transpose[?p](?x)) => transposed_reduced(?r, ?p, ?x)
reduce-of-transpose: ReduceMin[?r](Transpose[?p](?x)) => transposed_reduced(?r, ?p, ?x)
# ReduceMean(Concat(x, y, ..)) = Concat(ReduceMean(x), ReduceMean(y), ..), along another axis
reduce-of-concat: ?z = ReduceMean[?r](Concat[?c](?xs...)) => reduced_parts(?r, ?c, ?xs) if smooth(?z)
reduce-of-concat: ?z = ReduceSum[?r](Concat[?c](?xs...)) => reduced_parts(?r, ?c, ?xs) if smooth(?z)
reduce-of-concat: ?z = GlobalAveragePool[?r](Concat[?c](?xs...)) => reduced_parts(?r, ?c, ?xs)
  if smooth(?z)
reduce-of-concat: ReduceMax[?r](Concat[?c](?xs...)) => reduced_parts(?r, ?c, ?xs)
reduce-of-concat: ReduceMin[?r](Concat[?c](?xs...)) => reduced_parts(?r, ?c, ?xs)
reduce-of-concat: GlobalMaxPool[?r](Concat[?c](?xs...)) => reduced_parts(?r, ?c, ?xs)
# ReduceSum(Concat(x, y)) = ReduceSum(x) + ReduceSum(y), along that axis
sum-of-concat: ?z = ReduceSum[?r](Concat[?c](?x, ?y)) => sum_of_parts(?r, ?c, ?x, ?y)
  if reaches_far(?x) and activation(?x) and activation(?y) and smooth(?z)
# ReduceMean(ReduceMean(x; a); b) = ReduceMean(x; a, b); the other reductions alike
reduce-of-reduce: ?z = ReduceMean[?r](ReduceMean[?s](?x)) => reduced_twice(?r, ?s, ?x)
  if float(?x) and smooth(?z)
reduce-of-reduce: ?z = ReduceSum[?r](ReduceSum[?s](?x)) => reduced_twice(?r, ?s, ?x)
  if float(?x) and smooth(?z)
reduce-of-reduce: ReduceMax[?r](ReduceMax[?s](?x)) => reduced_twice(?r, ?s, ?x)
reduce-of-reduce: ReduceMin[?r](ReduceMin[?s](?x)) => reduced_twice(?r, ?s, ?x)
# ReduceSum(-x) = -ReduceSum(x), and ReduceMax(-x) = -ReduceMin(x)
reduce-of-neg: ReduceSum[?r](Neg(?x)) => Neg(ReduceSum[?r](?x)) if float(?x)
reduce-of-neg: ReduceMean[?r](Neg(?x)) => Neg(ReduceMean[?r](?x)) if float(?x)
reduce-of-neg: ReduceMax[?r](Neg(?x)) => Neg(reduced_as(?r, ReduceMin, ?x)) if float(?x)
reduce-of-neg: ReduceMin[?r](Neg(?x)) => Neg(reduced_as(?r, ReduceMax, ?x)) if float(?x)
# ReduceMax(f(x)) = f(ReduceMax(x)), f rising: Relu, Clip, LeakyRelu, Sigmoid, Tanh
reducemax-of-rising: ReduceMax[?r](Relu(?x)) => Relu(ReduceMax[?r](?x))
  if single(?x) and reduces_some(?r, ?x)
reducemax-of-rising: ReduceMax[?r](Clip[?c](?x)) => Clip[?c](ReduceMax[?r](?x))
  if float(?x) and reduces_some(?r, ?x)
reducemax-of-rising: ReduceMax[?r](LeakyRelu[?l](?x)) => LeakyRelu[?l](ReduceMax[?r](?x))
  if float(?x) and rises(?l) and reduces_some(?r, ?x)
reducemax-of-rising: ?z = ReduceMax[?r](Sigmoid(?x)) => Sigmoid(ReduceMax[?r](?x))
  if float(?x) and reduces_some(?r, ?x) and smooth(?z)
reducemax-of-rising: ?z = ReduceMax[?r](Tanh(?x)) => Tanh(ReduceMax[?r](?x))
  if float(?x) and reduces_some(?r, ?x) and smooth(?z)
)";

// What an operator reduces.
struct Reduction {
  Ints axes;   // Not negative, rising, at least one.
  bool keeps;  // Whether they stay, with size 1.
};
std::optional<Reduction> ReadReduction(const OpWord& word, int rank) {
  if (word.def->reduced_axes == nullptr) return std::nullopt;
  const auto axes = word.def->reduced_axes(word.attributes, rank);
  if (!axes.ok() || axes->empty()) return std::nullopt;
  return Reduction{*axes, word.attributes.GetInt("keepdims", 1) != 0};
}
std::optional<Reduction> ReadReduction(const OpWord& word, const TensorType& x) {
  return x.has_rank() ? ReadReduction(word, x.rank()) : std::nullopt;
}

bool Has(const Ints& axes, int64_t axis) { return std::ranges::binary_search(axes, axis); }

bool IsGlobal(const OpWord& word) {
  return word.name == "GlobalAveragePool" || word.name == "GlobalMaxPool";
}

// Reduces x along other axes, which stay with size 1. A global pool becomes a Reduce operator
// unless these are the spatial ones, and where x may have no channels, which ONNX Runtime does not
// pool.
ClassId Reduced(Terms& terms, const OpWord& word, ClassId x, Ints axes) {
  if (!x.valid() || !terms.type(x).has_rank()) return ClassId();
  if (!IsGlobal(word)) return terms.Op(word.name, {x}, {{"axes", std::move(axes)}});
  const bool is_spatial = axes.front() == 2 && axes.back() + 1 == terms.type(x).rank() &&
                          static_cast<int>(axes.size()) + 2 == terms.type(x).rank();
  if (is_spatial && NumberAt(terms.type(x), 1).value_or(0) > 0) return terms.Op(word.name, {x});
  const char* name = word.name == "GlobalMaxPool" ? "ReduceMax" : "ReduceMean";
  return terms.Op(name, {x}, {{"axes", std::move(axes)}});
}

// y, which has the reduced axes with size 1, as the reduction has them.
ClassId Finished(Terms& terms, const Reduction& reduction, ClassId y) {
  return reduction.keeps ? y : terms.Op("Squeeze", {y}, {{"axes", reduction.axes}});
}

// args: r, x, w. A mean of nothing is NaN, which must reach the product.
ClassId ReducedProduct(Terms& terms, std::span<const Binding> args) {
  const ClassId x = args[1].id, w = args[2].id;
  const auto reduction = ReadReduction(terms.word(args[0].op), terms.type(x));
  if (!reduction || terms.type(x).rank() < 2 || Has(reduction->axes, terms.type(x).rank() - 1) ||
      NumberAt(terms.type(w), 0).value_or(0) < 1) {
    return ClassId();
  }
  const ClassId mean = Reduced(terms, terms.word(args[0].op), x, reduction->axes);
  return Finished(terms, *reduction, terms.Op("MatMul", {mean, terms.FiniteWeight(w)}));
}

// args: r, x, w
ClassId ReducedColumns(Terms& terms, std::span<const Binding> args) {
  const ClassId x = args[1].id, w = args[2].id;
  const auto reduction = ReadReduction(terms.word(args[0].op), terms.type(x));
  if (!reduction || terms.type(x).rank() < 2 || reduction->axes != Ints{terms.type(x).rank() - 1} ||
      NumberAt(terms.type(w), 0).value_or(0) < 1 || NumberAt(terms.type(w), 1).value_or(0) < 1) {
    return ClassId();
  }
  const ClassId column = Reduced(terms, terms.word(args[0].op), w, {1});
  return Finished(terms, *reduction, terms.Op("MatMul", {x, terms.FiniteWeight(column)}));
}

// args: r, c, x, w, b..
ClassId PooledConv(Terms& terms, std::span<const Binding> args) {
  const ClassId x = args[2].id, w = args[3].id;
  const auto reduction = ReadReduction(terms.word(args[0].op), terms.type(x));
  const auto conv = ReadConvolution(terms.word(args[1].op), terms.type(w));
  if (!reduction || !conv || !conv->IsPointwise() || reduction->axes.front() < 2) return ClassId();
  const ClassId mean = Reduced(terms, terms.word(args[0].op), x, reduction->axes);
  return Finished(terms, *reduction,
                  MakeConv(terms, terms.word(args[1].op).attributes, mean, terms.FiniteWeight(w),
                           Optional(args[4].list)));
}

// Whether c, broadcast against a tensor of this rank, is the same all along the axes.
bool IsConstantAlong(const TensorType& c, int rank, const Ints& axes) {
  return std::ranges::all_of(axes, [&](int64_t axis) {
    const auto own = static_cast<int>(axis) - (rank - c.rank());
    return own < 0 || c.dim(own).Is(1);
  });
}

// args: r, operator, x, c
ClassId ReducedBeside(Terms& terms, std::span<const Binding> args) {
  const ClassId x = args[2].id, c = args[3].id;
  const auto reduction = ReadReduction(terms.word(args[0].op), terms.type(x));
  if (!reduction || !IsConstantAlong(terms.type(c), terms.type(x).rank(), reduction->axes)) {
    return ClassId();
  }
  const ClassId mean = Reduced(terms, terms.word(args[0].op), x, reduction->axes);
  return Finished(terms, *reduction, terms.Op(args[1].text, {mean, c}));
}

// args: r, p, x
ClassId TransposedReduced(Terms& terms, std::span<const Binding> args) {
  const ClassId x = args[2].id;
  const Ints* perm = terms.word(args[1].op).attributes.FindInts("perm");
  const auto reduction = ReadReduction(terms.word(args[0].op), terms.type(x));
  if (!reduction || perm == nullptr || static_cast<int>(perm->size()) != terms.type(x).rank()) {
    return ClassId();
  }
  Ints axes;
  for (const int64_t axis : reduction->axes) axes.push_back((*perm)[axis]);
  std::ranges::sort(axes);
  const ClassId reduced = Reduced(terms, terms.word(args[0].op), x, std::move(axes));
  return Finished(terms, *reduction, terms.Transpose(reduced, *perm));
}

// Each part is read by a kernel of its own.
constexpr size_t kMostParts = 8;

// args: r, c, parts
ClassId ReducedParts(Terms& terms, std::span<const Binding> args) {
  const std::span<const ClassId> parts = args[2].list;
  if (parts.size() < 2 || parts.size() > kMostParts) return ClassId();
  const auto reduction = ReadReduction(terms.word(args[0].op), terms.type(parts[0]));
  if (!reduction) return ClassId();
  const int64_t axis = ConcatAxis(terms.word(args[1].op), terms.type(parts[0]));
  if (Has(reduction->axes, axis)) return ClassId();
  std::vector<ClassId> reduced;
  for (const ClassId part : parts) {
    reduced.push_back(Reduced(terms, terms.word(args[0].op), part, reduction->axes));
  }
  return Finished(terms, *reduction, terms.Concat(reduced, axis));
}

// args: r, c, x, y
ClassId SumOfParts(Terms& terms, std::span<const Binding> args) {
  const ClassId parts[] = {args[2].id, args[3].id};
  const auto reduction = ReadReduction(terms.word(args[0].op), terms.type(parts[0]));
  if (!reduction) return ClassId();
  const int64_t axis = ConcatAxis(terms.word(args[1].op), terms.type(parts[0]));
  if (!Has(reduction->axes, axis) || !CanConcat(terms, parts, axis)) return ClassId();
  const OpWord& word = terms.word(args[0].op);
  const ClassId first = Reduced(terms, word, parts[0], reduction->axes);
  const ClassId second = Reduced(terms, word, parts[1], reduction->axes);
  return Finished(terms, *reduction, terms.Op("Add", {first, second}));
}

// args: r, s, x. Axes are those of x.
ClassId ReducedTwice(Terms& terms, std::span<const Binding> args) {
  const ClassId x = args[2].id;
  const auto inner = ReadReduction(terms.word(args[1].op), terms.type(x));
  if (!inner) return ClassId();
  Ints between;  // The axes that the outer one sees.
  for (int64_t axis = 0; axis < terms.type(x).rank(); ++axis) {
    if (inner->keeps || !Has(inner->axes, axis)) between.push_back(axis);
  }
  const OpWord& word = terms.word(args[0].op);
  const auto outer = ReadReduction(word, static_cast<int>(between.size()));
  if (!outer) return ClassId();
  std::set<int64_t> all(inner->axes.begin(), inner->axes.end());
  std::set<int64_t> removed;
  if (!inner->keeps) removed = all;
  for (const int64_t axis : outer->axes) {
    all.insert(between[axis]);
    if (!outer->keeps) removed.insert(between[axis]);
  }
  const ClassId reduced = Reduced(terms, word, x, Ints(all.begin(), all.end()));
  const Reduction result{Ints(removed.begin(), removed.end()), removed.empty()};
  return Finished(terms, result, reduced);
}

// args: r, name, x
ClassId ReducedAs(Terms& terms, std::span<const Binding> args) {
  return terms.Op(args[1].text, {args[2].id}, terms.word(args[0].op).attributes);
}

// The means of all axes but two, which are a batch and the channels of a product: of rows, whose
// last axis are the channels, or of pixels, whose second axis they are. A LayerNormalization that
// is written out averages channels, and needs all of the sum. args: r, which of the two, x, y
ClassId SumOfMeans(Terms& terms, std::span<const Binding> args) {
  const ClassId x = args[2].id, y = args[3].id;
  const OpWord& word = terms.word(args[0].op);
  const auto reduction = ReadReduction(word, terms.type(x));
  if (!reduction || !SameType(terms.type(x), terms.type(y))) return ClassId();
  const int rank = terms.type(x).rank();
  const int channels = args[1].text == "rows" ? rank - 1 : 1;
  if (static_cast<int>(reduction->axes.size()) + 2 != rank || Has(reduction->axes, channels)) {
    return ClassId();
  }
  const ClassId first = Reduced(terms, word, x, reduction->axes);
  const ClassId second = Reduced(terms, word, y, reduction->axes);
  return Finished(terms, *reduction, terms.Op("Add", {first, second}));
}

// Whether there surely is something that is reduced.
bool ReducesSome(const View& view, std::span<const Binding> args) {
  const TensorType& x = view.type(args[1].id);
  const auto reduction = ReadReduction(view.word(args[0].op), x);
  return reduction && std::ranges::all_of(reduction->axes, [&](int64_t axis) {
           return NumberAt(x, static_cast<int>(axis)).value_or(0) > 0;
         });
}

void AddWords(Words& words) {
  words.Term("reduced_product", "occ", ReducedProduct);
  words.Term("reduced_columns", "occ", ReducedColumns);
  words.Term("pooled_conv", "ooccl", PooledConv);
  words.Term("reduced_beside", "otcc", ReducedBeside);
  words.Term("transposed_reduced", "ooc", TransposedReduced);
  words.Term("reduced_parts", "ool", ReducedParts);
  words.Term("sum_of_parts", "oocc", SumOfParts);
  words.Term("reduced_twice", "ooc", ReducedTwice);
  words.Term("reduced_as", "otc", ReducedAs);
  words.Term("sum_of_means", "otcc", SumOfMeans);
  words.Guard("reduces_some", "oc", Purpose::kEquation, ReducesSome);
}

}  // namespace

Family ReductionFamily() { return {"reduction", kText, AddWords, nullptr}; }

}  // namespace quotient::rules
