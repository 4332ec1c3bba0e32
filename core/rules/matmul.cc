// Rules about MatMul and Gemm: scales and shifts move into constant weights, products and sums of
// products are re-associated, and shapes around them are simplified. A weight is anything that can
// be computed from constants.

#include <algorithm>
#include <numeric>
#include <optional>

#include "core/base/checked.h"
#include "core/rules/family.h"
#include "core/rules/shared_input.h"
#include "core/rules/types.h"

namespace quotient::rules {
namespace {

constexpr char kText[] = R"(
# (x W) s = x (W s), s along the columns
matmul-scale-columns: ?z = Mul(MatMul(?x, ?w), ?s)
  => MatMul(?x, finite_weight(Mul(?w, columns(?s, MatMul(?x, ?w)))))
  if weight(?w) and weight(?s) and activation(?x) and factor(?s) and wide(?w) and smooth(?z)
# (x s) W = x (s W), s along the rows
matmul-scale-rows: ?z = MatMul(Mul(?x, ?s), ?w) => MatMul(?x, finite_weight(Mul(?w, rows(?s, ?x))))
  if weight(?w) and weight(?s) and activation(?x) and factor(?s) and keeps(?x, ?s) and wide(?w)
    and smooth(?z)
# (x + c) W = x W + c W, c along the rows
matmul-shift-rows: ?z = MatMul(Add(?x, ?c), ?w) => Add(MatMul(?x, ?w), MatMul(columns(?c, ?x), ?w))
  if weight(?w) and weight(?c) and activation(?x) and keeps(?x, ?c) and has_rank(?w, 2)
    and shift_beside(?x, ?c) and smooth(?z)
# (x c) y = (x y) c = x (y c), c a scalar
matmul-scalar-out: ?z = MatMul(Mul(?x, ?c), ?y) => Mul(MatMul(?x, ?y), ?c)
  if weight(?c) and scalar(?c, ?x) and activation(?x) and activation(?y) and reaches_far(?x)
    and near_one(?c) and wide(?x) and wide(?y) and smooth(?z)
matmul-scalar-out: ?z = MatMul(?x, Mul(?y, ?c)) => Mul(MatMul(?x, ?y), ?c)
  if weight(?c) and scalar(?c, ?y) and activation(?x) and activation(?y) and reaches_far(?x)
    and near_one(?c) and wide(?x) and wide(?y) and smooth(?z)
# (x y) c = (x c) y, c a scalar
matmul-scalar-left: ?z = Mul(MatMul(?x, ?y), ?c) => MatMul(Mul(?x, ?c), ?y)
  if weight(?c) and scalar(?c, ?x) and activation(?x) and activation(?y) and early_factor(?c)
    and wide(?x) and wide(?y) and smooth(?z)
# (x y) c = x (y c), c a scalar
matmul-scalar-right: ?z = Mul(MatMul(?x, ?y), ?c) => MatMul(?x, Mul(?y, ?c))
  if weight(?c) and scalar(?c, ?y) and activation(?x) and activation(?y) and early_factor(?c)
    and wide(?x) and wide(?y) and smooth(?z)

# (-x) W = x (-W) = -(x W)
matmul-neg: MatMul(Neg(?x), ?w) => MatMul(?x, Neg(?w))
  if weight(?w) and activation(?x) and float(?x)
matmul-neg: Neg(MatMul(?x, ?w)) => MatMul(?x, Neg(?w))
  if weight(?w) and activation(?x) and float(?x)
# (x A) B = x (A B), if A B is smaller than A and B together
matmul-chain: MatMul(MatMul(?x, ?a), ?b) => MatMul(?x, finite_weight(MatMul(?a, ?b)))
  if weight(?a) and weight(?b) and activation(?x) and float(?x) and product_is_smaller(?a, ?b)
# x A + x B = x (A + B)
matmul-sum: Add(MatMul(?x, ?a), MatMul(?x, ?b)) => MatMul(?x, Add(?a, ?b))
  if weight(?a) and weight(?b) and same(?a, ?b) and shift(?a) and shift(?b) and before(?a, ?b)
# x A + y A = (x + y) A
matmul-sum-inputs: Add(MatMul(?x, ?a), MatMul(?y, ?a)) => MatMul(Add(?x, ?y), ?a)
  if same(?x, ?y) and reaches_far(?x) and activation(?x) and activation(?y)
# x A + y B = [x y] [A; B]
matmul-concat: Add(MatMul(?x, ?a), MatMul(?y, ?b))
  => MatMul(concat_columns(?x, ?y), concat_rows(?a, ?b))
  if weight(?a) and weight(?b) and activation(?x) and activation(?y) and float(?x)
    and distinct(?x, ?y)
    and has_rank(?a, 2) and has_rank(?b, 2)

# (y' x')' = x y, ' the exchange of the last two axes
matmul-transposed: Transpose[?p](MatMul(Transpose[?p](?x), Transpose[?p](?y))) => MatMul(?y, ?x)
  if swaps_last_two(?p)
# (x W)' = W' x'
transpose-matmul: Transpose[?p](MatMul(Transpose[?q](?x), ?y))
  => MatMul(transpose_like(?p, ?y), transpose_like(?p, Transpose[?q](?x))) if swaps_last_two(?p)
transpose-matmul: Transpose[?p](MatMul(?x, Transpose[?q](?y)))
  => MatMul(transpose_like(?p, Transpose[?q](?y)), transpose_like(?p, ?x)) if swaps_last_two(?p)

# x W + b = Gemm(x, W, b), two dimensions
gemm-of-matmul: Add(MatMul(?x, ?w), ?b) => gemm(?x, ?w, ?b)
  if weight(?w) and weight(?b) and float(?x) and keeps_product(?x, ?w, ?b)
# Gemm(x, W, b) = x W' + b, two dimensions
matmul-of-gemm: Gemm[?g](?x, ?w, ?b...) => matmul_add(?g, ?x, ?w, ?b)
  if weight(?w) and float(?x)
# Gemm(x', W) = Gemm(x, W) with the other transA; the same for W
gemm-transpose-a: Gemm[?g](Transpose[?p](?x), ?w, ?b...)
  => gemm_flipped(?g, transA, ?x, ?w, ?b) if swaps_last_two(?p)
# Gemm(x, y') = Gemm(x, y) with y transposed
gemm-transpose-b: Gemm[?g](?x, Transpose[?p](?w), ?b...)
  => gemm_flipped(?g, transB, ?x, ?w, ?b) if swaps_last_two(?p)
# x W' = Gemm(x, W; transB), two dimensions
matmul-transpose-b: MatMul(?x, Transpose[?p](?w)) => gemm_transposed_b(?x, ?w)
  if has_rank(?x, 2) and has_rank(?w, 2) and swaps_last_two(?p) and activation(?w) and float(?x)

# Reshape(Reshape(x) W) = x W, if only leading axes are joined and parted again
matmul-unflatten: ?y = Reshape(MatMul(Reshape(?x), ?w)) => unflattened(?x, ?w, ?y)
  if weight(?w) and has_rank(?w, 2) and activation(?x)

# x u' = (x u), u' the heads of u repeated: x with the rows of all heads that share one of u below
# each other
matmul-repeated: ?y = MatMul(?x, Reshape[?r](Expand[?e](?u))) => times_repeated(?r, ?e, ?x, ?u, ?y)
  if float(?x) and activation(?x) and activation(?u)
matmul-repeated: ?y = MatMul(?x, Transpose[?p](Reshape[?r](Expand[?e](?u))))
  => times_repeated_transposed(?r, ?e, ?x, ?u, ?y)
  if float(?x) and activation(?x) and activation(?u) and swaps_last_two(?p)
matmul-repeated: ?y = MatMul(?x, Reshape[?r](Transpose[?p](Expand[?e](?u))))
  => times_transposed_repeated(?r, ?e, ?x, ?u, ?y)
  if float(?x) and activation(?x) and activation(?u) and swaps_last_two(?p)
# Expand(x) W = Expand(x W), and the same for a Tile, along other axes than the last one
matmul-of-repeat: ?y = MatMul(Expand(?x), ?w) => expanded_product(?x, ?w, ?y)
  if weight(?w) and activation(?x) and has_rank(?w, 2) and float(?x)
matmul-of-repeat: MatMul(Tile[?t](?x), ?w) => Tile[?t](MatMul(?x, ?w))
  if weight(?w) and activation(?x) and has_rank(?w, 2) and float(?x) and wide(?x)
    and repeats_rows(?t)
)";

// Converts c to a vector [n] over the columns, the last axis, of a product with the type of y.
ClassId Columns(Terms& terms, ClassId c, ClassId y) {
  const TensorType& type = terms.type(y);
  const std::optional<int64_t> size = NumberAt(type, -1);
  if (!size || type.rank() < 2) return ClassId();
  return terms.Vector(c, type.rank(), type.rank() - 1, *size);
}

// Converts s, which varies along the last axis of x, to a column [k, 1] that scales the rows of a
// weight.
ClassId Rows(Terms& terms, ClassId s, ClassId x) {
  const ClassId vector = Columns(terms, s, x);
  return vector.valid() ? terms.Reshape(vector, {-1, 1}) : vector;
}

bool SwapsLastTwo(const OpWord& word) {
  const Ints* perm = word.attributes.FindInts("perm");
  if (perm == nullptr || perm->size() < 2) return false;
  const size_t rank = perm->size();
  for (size_t i = 0; i + 2 < rank; ++i) {
    if ((*perm)[i] != static_cast<int64_t>(i)) return false;
  }
  return (*perm)[rank - 1] == static_cast<int64_t>(rank - 2);
}

bool ProductIsSmaller(const TensorType& a, const TensorType& b) {
  if (!a.is_static() || !b.is_static() || a.rank() != 2 || b.rank() != 2) return false;
  return a.dim(0).number() * b.dim(1).number() <= a.elements() + b.elements();
}

// Concatenates x and y along the last axis, if all other axes are certainly equal.
ClassId ConcatColumns(Terms& terms, ClassId x, ClassId y) {
  const TensorType& a = terms.type(x);
  const TensorType& b = terms.type(y);
  if (!a.has_rank() || !b.has_rank() || a.rank() != b.rank() || a.rank() < 2) return ClassId();
  for (int i = 0; i + 1 < a.rank(); ++i) {
    if (!model::SameDim(a.dim(i), b.dim(i))) return ClassId();
  }
  const ClassId parts[] = {x, y};
  return terms.Concat(parts, a.rank() - 1);
}

ClassId Gemm(Terms& terms, AttributeMap attributes, ClassId x, ClassId w,
             std::span<const ClassId> bias) {
  std::vector<ClassId> children = {x, w};
  children.insert(children.end(), bias.begin(), bias.end());
  return terms.Op("Gemm", children, std::move(attributes));
}

// Expresses alpha x' w' + beta b by MatMul and Add. Factors and transposes go into the constants.
ClassId MatMulAdd(Terms& terms, std::span<const Binding> args) {
  const AttributeMap attributes = terms.word(args[0].op).attributes;
  const ClassId x = args[1].id;
  ClassId w = args[2].id;
  if (attributes.GetInt("transA", 0) != 0) return ClassId();
  const model::DType dtype = terms.type(w).dtype;
  const auto scaled = [&](ClassId term, double factor) {
    if (factor == 1.0) return term;
    return terms.FiniteWeight(terms.Op("Mul", {term, terms.Filled(dtype, {}, factor)}));
  };
  if (attributes.GetInt("transB", 0) != 0) w = terms.Transpose(w, {1, 0});
  const ClassId product = terms.Op("MatMul", {x, scaled(w, attributes.GetFloat("alpha", 1.0))});
  if (args[3].list.empty()) return product;
  const ClassId bias = args[3].list[0];
  if (!terms.data(bias).weight_only) return ClassId();
  return terms.Op("Add", {product, scaled(bias, attributes.GetFloat("beta", 1.0))});
}

// Multiplies without flattening: y has the leading axes of x and the columns of the product.
ClassId Unflattened(Terms& terms, ClassId x, ClassId w, ClassId y) {
  const TensorType& from = terms.type(x);
  const TensorType& to = terms.type(y);
  if (!from.has_rank() || !to.has_rank() || from.rank() != to.rank() || from.rank() < 2) {
    return ClassId();
  }
  for (int i = 0; i + 1 < from.rank(); ++i) {
    if (!model::SameDim(from.dim(i), to.dim(i))) return ClassId();
  }
  const TensorType& weight = terms.type(w);
  if (!NumberAt(weight, 0) || NumberAt(weight, 0) != NumberAt(from, -1) ||
      NumberAt(weight, 1) != NumberAt(to, -1)) {
    return ClassId();
  }
  return terms.Op("MatMul", {x, w});
}

// Heads [.., a, k, n] of which each is repeated `times`.
struct Repeated {
  ClassId heads;
  int64_t times;
};

// Where the last two axes of the repeated heads are exchanged.
enum class Exchanged { kNever, kAfterReshape, kBeforeReshape };

// Reads Reshape(Expand(u)), which repeats heads: u is [.., a, 1, k, n], and the Expand repeats its
// axis of 1, which the Reshape joins with the one before.
std::optional<Repeated> ReadRepeated(Terms& terms, const OpWord& reshape, const OpWord& expand,
                                     ClassId u, Exchanged exchanged) {
  const TensorType& type = terms.type(u);
  const Ints* const wide = expand.attributes.FindInts("shape");
  const Ints* const joined = reshape.attributes.FindInts("shape");
  if (wide == nullptr || joined == nullptr || !type.is_static() || type.rank() < 4 ||
      type.elements() == 0 || static_cast<int>(wide->size()) != type.rank()) {
    return std::nullopt;
  }
  const auto repeated = static_cast<size_t>(type.rank() - 3);
  const int64_t times = (*wide)[repeated];
  Ints dims = type.dims();
  if (dims[repeated] != 1 || times < 2) return std::nullopt;
  dims[repeated] = times;
  if (*wide != dims) return std::nullopt;
  dims.erase(dims.begin() + static_cast<std::ptrdiff_t>(repeated));
  Ints all = dims;
  const std::optional<int64_t> heads = CheckedMul(all[repeated - 1], times);
  if (!heads.has_value()) return std::nullopt;
  all[repeated - 1] = *heads;
  if (exchanged == Exchanged::kBeforeReshape) std::swap(all[repeated], all[repeated + 1]);
  if (*joined != all) return std::nullopt;
  return Repeated{terms.Reshape(u, std::move(dims)), times};
}

// Multiplies each head of u once by the rows of all heads of x that share it. args: the Reshape and
// Expand of u, x, u, and the product y.
template <Exchanged kExchanged>
ClassId TimesRepeated(Terms& terms, std::span<const Binding> args) {
  const auto repeated =
      ReadRepeated(terms, terms.word(args[0].op), terms.word(args[1].op), args[3].id, kExchanged);
  const TensorType& x = terms.type(args[2].id);
  if (!repeated || !repeated->heads.valid() || !x.is_static() || x.elements() == 0) {
    return ClassId();
  }
  Ints dims = terms.type(repeated->heads).dims();
  const size_t rank = dims.size();
  Ints rows = x.dims();
  if (rows.size() != rank) return ClassId();
  // All heads and batches are there in both; nothing is broadcast.
  for (size_t i = 0; i + 2 < rank; ++i) {
    if (rows[i] != dims[i] * (i + 3 == rank ? repeated->times : 1)) return ClassId();
  }
  rows[rank - 3] = dims[rank - 3];
  rows[rank - 2] *= repeated->times;
  Ints perm(rank);
  std::iota(perm.begin(), perm.end(), 0);
  if (kExchanged != Exchanged::kNever) std::swap(perm[rank - 1], perm[rank - 2]);
  const ClassId heads = terms.Transpose(repeated->heads, std::move(perm));
  const ClassId product = terms.Op("MatMul", {terms.Reshape(args[2].id, std::move(rows)), heads});
  return terms.ReshapeTo(product, terms.type(args[4].id));
}

// Whether a Tile leaves the last axis alone.
bool RepeatsRows(const OpWord& tile) {
  const Ints* repeats = tile.attributes.FindInts("repeats");
  return repeats != nullptr && !repeats->empty() && repeats->back() == 1;
}

// The product of x, expanded to the shape of y. args: x, w, y
ClassId ExpandedProduct(Terms& terms, std::span<const Binding> args) {
  const TensorType& x = terms.type(args[0].id);
  const TensorType& y = terms.type(args[2].id);
  const std::optional<int64_t> length = NumberAt(x, -1);
  if (!y.is_static() || !length || x.rank() < 2 || NumberAt(terms.type(args[1].id), 0) != length) {
    return ClassId();
  }
  const Ints shape = y.dims();
  const ClassId product = terms.Op("MatMul", {args[0].id, args[1].id});
  return terms.Op("Expand", {product}, {{"shape", shape}});
}

void AddGuards(Words& words) {
  words.Guard("repeats_rows", "o", Purpose::kEquation,
              [](const View& view, auto args) { return RepeatsRows(view.word(args[0].op)); });
  words.Guard("wide", "c", Purpose::kEquation, [](const View& view, auto args) {
    return view.type(args[0].id).has_rank() && view.type(args[0].id).rank() >= 2;
  });
  words.Guard("product_is_smaller", "cc", Purpose::kCost, [](const View& view, auto args) {
    return ProductIsSmaller(view.type(args[0].id), view.type(args[1].id));
  });
  words.Guard("swaps_last_two", "o", Purpose::kEquation,
              [](const View& view, auto args) { return SwapsLastTwo(view.word(args[0].op)); });
  // x and w are matrices, and broadcasting b against x w keeps the shape of x w.
  words.Guard("keeps_product", "ccc", Purpose::kEquation, [](const View& view, auto args) {
    const TensorType& x = view.type(args[0].id);
    const TensorType& w = view.type(args[1].id);
    if (!x.has_rank() || !w.has_rank() || x.rank() != 2 || w.rank() != 2) return false;
    return KeepsShape(TensorType(x.dtype, {x.dim(0), w.dim(1)}), view.type(args[2].id));
  });
}

void AddTerms(Words& words) {
  words.Term("columns", "cc",
             [](Terms& terms, auto args) { return Columns(terms, args[0].id, args[1].id); });
  words.Term("rows", "cc",
             [](Terms& terms, auto args) { return Rows(terms, args[0].id, args[1].id); });
  words.Term("concat_columns", "cc",
             [](Terms& terms, auto args) { return ConcatColumns(terms, args[0].id, args[1].id); });
  words.Term("concat_rows", "cc", [](Terms& terms, auto args) {
    const ClassId parts[] = {args[0].id, args[1].id};
    return terms.Concat(parts, 0);
  });
  words.Term("transpose_like", "oc", [](Terms& terms, auto args) {
    const Ints* perm = terms.word(args[0].op).attributes.FindInts("perm");
    const TensorType& type = terms.type(args[1].id);
    if (!type.has_rank() || static_cast<size_t>(type.rank()) != perm->size()) return ClassId();
    return terms.Transpose(args[1].id, *perm);
  });
  words.Term("gemm", "ccc", [](Terms& terms, auto args) {
    const ClassId bias[] = {args[2].id};
    return Gemm(terms, {}, args[0].id, args[1].id, bias);
  });
  words.Term("gemm_flipped", "otccl", [](Terms& terms, auto args) {
    AttributeMap attributes = terms.word(args[0].op).attributes;
    const absl::string_view flag = args[1].text;
    attributes.Set(flag, int64_t{attributes.GetInt(flag, 0) == 0});
    return Gemm(terms, std::move(attributes), args[2].id, args[3].id, args[4].list);
  });
  words.Term("gemm_transposed_b", "cc", [](Terms& terms, auto args) {
    return Gemm(terms, {{"transB", int64_t{1}}}, args[0].id, args[1].id, {});
  });
  words.Term("expanded_product", "ccc", ExpandedProduct);
  words.Term("matmul_add", "occl", MatMulAdd);
  words.Term("times_repeated", "ooccc", TimesRepeated<Exchanged::kNever>);
  words.Term("times_repeated_transposed", "ooccc", TimesRepeated<Exchanged::kAfterReshape>);
  words.Term("times_transposed_repeated", "ooccc", TimesRepeated<Exchanged::kBeforeReshape>);
  words.Term("unflattened", "ccc", [](Terms& terms, auto args) {
    return Unflattened(terms, args[0].id, args[1].id, args[2].id);
  });
}

void AddWords(Words& words) {
  AddGuards(words);
  AddTerms(words);
}

void AddRules(TensorDomain* domain, RuleList& rules) {
  rules.push_back(NewMatMulMerge(domain));
  rules.push_back(NewGemmMerge(domain));
}

}  // namespace

Family MatmulFamily() { return {"matmul", kText, AddWords, AddRules}; }

}  // namespace quotient::rules
