// Rules that recognize functions which exporters write as several operators: LayerNormalization,
// RMSNormalization, GELU, Swish, HardSwish, guarded softmax; and one that takes a softmax apart.
// The patterns are the forms that torch's two exporters and the modules of transformers produce.
// Products of three factors are listed in every bracketing, and sums with the constant on the
// right, where TensorDomain::Add puts it.

#include <algorithm>
#include <cmath>
#include <optional>
#include <vector>

#include "core/rules/family.h"
#include "core/rules/magnitudes.h"
#include "core/rules/types.h"

namespace quotient::rules {
namespace {

constexpr char kText[] = R"(
# (x - mean(x)) / sqrt(mean((x - mean(x))^2) + e) = LayerNormalization(x; 1)
layernorm: Div(Sub(?x, ReduceMean[?m](?x)),
    Sqrt(Add(ReduceMean[?m](Mul(Sub(?x, ReduceMean[?m](?x)), Sub(?x, ReduceMean[?m](?x)))), ?e)))
  => layernorm(?m, ?x, ?e) if single(?x) and constant(?e)
layernorm: Div(Sub(?x, ReduceMean[?m](?x)),
    Sqrt(Add(ReduceMean[?m](Pow(Sub(?x, ReduceMean[?m](?x)), ?two)), ?e)))
  => layernorm(?m, ?x, ?e) if single(?x) and constant(?e) and is(?two, 2)
layernorm: Mul(Sub(?x, ReduceMean[?m](?x)), Reciprocal(
    Sqrt(Add(ReduceMean[?m](Mul(Sub(?x, ReduceMean[?m](?x)), Sub(?x, ReduceMean[?m](?x)))), ?e))))
  => layernorm(?m, ?x, ?e) if single(?x) and constant(?e)

# x / sqrt(mean(x^2) + e) = RMSNormalization(x; 1)
rmsnorm: Div(?x, Sqrt(Add(ReduceMean[?m](Mul(?x, ?x)), ?e)))
  => rmsnorm(?m, ?x, ?e) if single(?x) and constant(?e)
rmsnorm: Div(?x, Sqrt(Add(ReduceMean[?m](Pow(?x, ?two)), ?e)))
  => rmsnorm(?m, ?x, ?e) if single(?x) and constant(?e) and is(?two, 2)
rmsnorm: Mul(?x, Reciprocal(Sqrt(Add(ReduceMean[?m](Mul(?x, ?x)), ?e))))
  => rmsnorm(?m, ?x, ?e) if single(?x) and constant(?e)
# RMSNormalization(x; s) c = RMSNormalization(x; s c)
rmsnorm-scale: ?z = Mul(RMSNormalization[?n](?x, ?s), ?c) => rmsnorm_scale(?n, ?x, ?s, ?c)
  if weight(?s) and weight(?c) and factor(?c) and smooth(?z)

# x Sigmoid(x) = Swish(x)
swish: ?z = Mul(?x, Sigmoid(?x)) => swish(?x) if single(?x) and smooth(?z)
swish: ?z = Mul(Sigmoid(?x), ?x) => swish(?x) if single(?x) and smooth(?z)
# x Sigmoid(a x) = Swish(x; a)
swish: ?z = Mul(?x, Sigmoid(Mul(?x, ?a))) => swish_scaled(?x, ?a)
  if constant(?a) and scalars(?x, ?a, ?a, ?a) and smooth(?z)
swish: ?z = Mul(Sigmoid(Mul(?x, ?a)), ?x) => swish_scaled(?x, ?a)
  if constant(?a) and scalars(?x, ?a, ?a, ?a) and smooth(?z)

# x / 2 * (1 + erf(x / sqrt(2))) = Gelu(x)
gelu: Mul(Mul(?x, Add(Erf(Mul(?x, ?k)), ?one)), ?half) => gelu(?x)
  if is(?k, 0.70710678118654752) and is(?one, 1) and is(?half, 0.5) and scalars(?x, ?k, ?one, ?half)
gelu: Mul(Mul(Add(Erf(Mul(?x, ?k)), ?one), ?x), ?half) => gelu(?x)
  if is(?k, 0.70710678118654752) and is(?one, 1) and is(?half, 0.5) and scalars(?x, ?k, ?one, ?half)
gelu: Mul(?x, Mul(Add(Erf(Mul(?x, ?k)), ?one), ?half)) => gelu(?x)
  if is(?k, 0.70710678118654752) and is(?one, 1) and is(?half, 0.5) and scalars(?x, ?k, ?one, ?half)
gelu: Mul(Mul(Add(Erf(Mul(?x, ?k)), ?one), ?half), ?x) => gelu(?x)
  if is(?k, 0.70710678118654752) and is(?one, 1) and is(?half, 0.5) and scalars(?x, ?k, ?one, ?half)
gelu: Mul(Mul(?x, ?half), Add(Erf(Mul(?x, ?k)), ?one)) => gelu(?x)
  if is(?k, 0.70710678118654752) and is(?one, 1) and is(?half, 0.5) and scalars(?x, ?k, ?one, ?half)
gelu: Mul(Add(Erf(Mul(?x, ?k)), ?one), Mul(?x, ?half)) => gelu(?x)
  if is(?k, 0.70710678118654752) and is(?one, 1) and is(?half, 0.5) and scalars(?x, ?k, ?one, ?half)

# x / 2 * (1 + tanh(k (x + a x^3))) = Gelu(x; tanh), k = sqrt(2 / pi), a = 0.044715
gelu-tanh: Mul(Mul(?x, ?half), Add(Tanh(Mul(Add(?x, Mul(Pow(?x, ?three), ?a)), ?k)), ?one))
  => gelu_tanh(?x)
  if is(?three, 3) and is(?a, 0.044715) and is(?k, 0.79788456080286536) and is(?one, 1)
    and is(?half, 0.5)
    and scalars(?x, ?a, ?k, ?three) and scalars(?x, ?one, ?half, ?half)
gelu-tanh: Mul(Mul(?x, Add(Tanh(Mul(Add(?x, Mul(Pow(?x, ?three), ?a)), ?k)), ?one)), ?half)
  => gelu_tanh(?x)
  if is(?three, 3) and is(?a, 0.044715) and is(?k, 0.79788456080286536) and is(?one, 1)
    and is(?half, 0.5)
    and scalars(?x, ?a, ?k, ?three) and scalars(?x, ?one, ?half, ?half)
gelu-tanh: Mul(?x, Mul(Add(Tanh(Mul(Add(?x, Mul(Pow(?x, ?three), ?a)), ?k)), ?one), ?half))
  => gelu_tanh(?x)
  if is(?three, 3) and is(?a, 0.044715) and is(?k, 0.79788456080286536) and is(?one, 1)
    and is(?half, 0.5)
    and scalars(?x, ?a, ?k, ?three) and scalars(?x, ?one, ?half, ?half)
gelu-tanh: Mul(Mul(?x, ?half), Add(Tanh(Mul(Add(?x, Mul(Mul(Mul(?x, ?x), ?x), ?a)), ?k)), ?one))
  => gelu_tanh(?x)
  if is(?a, 0.044715) and is(?k, 0.79788456080286536) and is(?one, 1) and is(?half, 0.5)
    and scalars(?x, ?a, ?k, ?one) and scalars(?x, ?half, ?half, ?half)
gelu-tanh: Mul(Mul(?x, Add(Tanh(Mul(Add(?x, Mul(Mul(Mul(?x, ?x), ?x), ?a)), ?k)), ?one)), ?half)
  => gelu_tanh(?x)
  if is(?a, 0.044715) and is(?k, 0.79788456080286536) and is(?one, 1) and is(?half, 0.5)
    and scalars(?x, ?a, ?k, ?one) and scalars(?x, ?half, ?half, ?half)
# x^3 = (x x) x
cube: ?z = Pow(?x, ?three) => Mul(Mul(?x, ?x), ?x)
  if is(?three, 3) and float(?x) and keeps(?x, ?three) and smooth(?z)
# x (x x) = (x x) x
cube-order: Mul(?x, Mul(?x, ?x)) => Mul(Mul(?x, ?x), ?x) if activation(?x) and float(?x)
# (a x) x x = ((x x) x) a
cube-scaled: ?z = Mul(Mul(Mul(?x, ?a), ?x), ?x) => Mul(Mul(Mul(?x, ?x), ?x), ?a)
  if constant(?a) and activation(?x) and reaches_far(?x) and scalar(?a, ?x) and near_one(?a)
    and smooth(?z)

# x HardSigmoid(x; 1/6, 1/2) = HardSwish(x)
hardswish: ?z = Mul(?x, HardSigmoid[?h](?x)) => HardSwish(?x)
  if swish_slope(?h) and single(?x) and smooth(?z)
hardswish: ?z = Mul(HardSigmoid[?h](?x), ?x) => HardSwish(?x)
  if swish_slope(?h) and single(?x) and smooth(?z)
# x Clip(x + 3; 0, 6) / 6 = HardSwish(x)
hardswish: ?z = Mul(Mul(?x, Clip[?c](Add(?x, ?three))), ?sixth) => HardSwish(?x)
  if zero_to_six(?c) and is(?three, 3) and is(?sixth, 0.16666666666666667)
    and scalars(?x, ?three, ?sixth, ?sixth) and smooth(?z)
hardswish: ?z = Mul(?x, Mul(Clip[?c](Add(?x, ?three)), ?sixth)) => HardSwish(?x)
  if zero_to_six(?c) and is(?three, 3) and is(?sixth, 0.16666666666666667)
    and scalars(?x, ?three, ?sixth, ?sixth) and smooth(?z)
hardswish: ?z = Mul(Mul(Clip[?c](Add(?x, ?three)), ?sixth), ?x) => HardSwish(?x)
  if zero_to_six(?c) and is(?three, 3) and is(?sixth, 0.16666666666666667)
    and scalars(?x, ?three, ?sixth, ?sixth) and smooth(?z)
# Clip(x + 3; 0, 6) / 6 = HardSigmoid(x; 1/6, 1/2)
hardsigmoid: ?z = Mul(Clip[?c](Add(?x, ?three)), ?sixth) => hardsigmoid(?x)
  if zero_to_six(?c) and is(?three, 3) and is(?sixth, 0.16666666666666667)
    and scalars(?x, ?three, ?sixth, ?sixth) and smooth(?z)

# Where(IsNaN(x), 0, x) = x, x never NaN
nan-guard: ?y = Where(IsNaN(?x), ?z, ?x) => ?x if never_nan(?x) and same(?y, ?x)
# Softmax(x + c) = Softmax(x), c the same all along the axis and small: behind the -3e38 of a mask
# nothing is left of x
softmax-shift: Softmax[?s](Add(?x, ?c)) => softmax_unshifted(?s, ?x, ?c) if shift(?c)
# Softmax(Transpose(x)) = Transpose(Softmax(x)), and the other way round
softmax-transpose: Softmax[?s](Transpose[?p](?x)) => transposed_softmax(?s, ?p, ?x)
softmax-transpose: LogSoftmax[?s](Transpose[?p](?x)) => transposed_softmax(?s, ?p, ?x)
softmax-transpose: Transpose[?p](Softmax[?s](?x)) => softmax_of_transposed(?s, ?p, ?x)
softmax-transpose: Transpose[?p](LogSoftmax[?s](?x)) => softmax_of_transposed(?s, ?p, ?x)
# LayerNormalization(x + c) = LayerNormalization(x), c the same all along the axes and small
layernorm-of-shift: ?z = LayerNormalization[?n](Add(?x, ?c), ?s, ?t...)
  => layernorm_unshifted(?n, ?x, ?c, ?s, ?t)
  if weight(?c) and activation(?x) and keeps(?x, ?c) and shift_beside(?x, ?c) and smooth(?z)
# LayerNormalization(x; s) + LayerNormalization(x; t) = LayerNormalization(x; s + t)
layernorm-sum: ?z = Add(LayerNormalization[?n](?x, ?s, ?b...), LayerNormalization[?n](?x, ?t, ?c...))
  => layernorm_sum(?n, ?x, ?s, ?b, ?t, ?c)
  if weight(?s) and weight(?t) and same(?s, ?t) and smooth(?z)
layernorm-sum: ?z = Add(RMSNormalization[?n](?x, ?s), RMSNormalization[?n](?x, ?t))
  => RMSNormalization[?n](?x, summed(?s, ?t))
  if weight(?s) and weight(?t) and same(?s, ?t) and smooth(?z)
# Softmax(x) = e / ReduceSum(e), e = Exp(x - ReduceMax(x)), where the axis is not the last one:
# runtimes transpose for such a Softmax, or run it row by row
softmax-parts: ?z = Softmax[?s](?x) => softmax_parts(?s, ?x) if smooth(?z)
)";

// Whether a ReduceMean reduces the last axis alone and keeps it with size 1.
bool IsMeanOfLastAxis(const OpWord& word, const TensorType& x) {
  const Ints* axes = word.attributes.FindInts("axes");
  if (axes == nullptr || axes->size() != 1 || !x.has_rank()) return false;
  return word.attributes.GetInt("keepdims", 1) != 0 &&
         ((*axes)[0] == -1 || (*axes)[0] == x.rank() - 1);
}

// The normalization of that name along the last axis, by ones. args: m, x, e
ClassId Norm(Terms& terms, absl::string_view name, std::span<const Binding> args) {
  const ClassId x = args[1].id;
  const ClassData& epsilon = terms.data(args[2].id);
  const std::optional<int64_t> size = NumberAt(terms.type(x), -1);
  if (!size || !IsMeanOfLastAxis(terms.word(args[0].op), terms.type(x)) ||
      epsilon.constant->elements() != 1 || !IsScalar(epsilon.type, terms.type(x).rank())) {
    return ClassId();
  }
  const double value = epsilon.constant->GetDouble(0);
  if (!(value > 0)) return ClassId();
  const ClassId ones = terms.Filled(terms.type(x).dtype, {*size}, 1.0);
  return terms.Op(name, {x, ones}, {{"axis", int64_t{-1}}, {"epsilon", value}});
}

// args: n, x, s, c
ClassId RmsNormScale(Terms& terms, std::span<const Binding> args) {
  const ClassId s = args[2].id;
  const ClassId scaled = terms.Op("Mul", {s, args[3].id});
  // A factor of more axes than the scale would not be one of the scale's any more.
  if (!scaled.valid() || !SameShape(terms.type(scaled), terms.type(s))) return ClassId();
  return terms.Op("RMSNormalization", {args[1].id, terms.FiniteWeight(scaled)},
                  terms.word(args[0].op).attributes);
}

// The axis that a Softmax of x normalizes, and the order of axes of the Transpose before or behind
// it; nullopt if either does not fit x.
struct TransposedSoftmax {
  Ints perm;
  int64_t axis;
};
std::optional<TransposedSoftmax> ReadTransposedSoftmax(const OpWord& softmax,
                                                       const OpWord& transpose,
                                                       const TensorType& x) {
  const Ints* perm = transpose.attributes.FindInts("perm");
  if (perm == nullptr || !x.has_rank() || static_cast<int>(perm->size()) != x.rank()) {
    return std::nullopt;
  }
  int64_t axis = softmax.attributes.GetInt("axis", -1);
  if (axis < 0) axis += x.rank();
  if (axis < 0 || axis >= x.rank()) return std::nullopt;
  return TransposedSoftmax{*perm, axis};
}

// args: s, p, x
ClassId TransposeOfSoftmax(Terms& terms, std::span<const Binding> args) {
  const OpWord& softmax = terms.word(args[0].op);
  const auto read = ReadTransposedSoftmax(softmax, terms.word(args[1].op), terms.type(args[2].id));
  if (!read) return ClassId();
  const ClassId normalized =
      terms.Op(softmax.name, {args[2].id}, {{"axis", read->perm[read->axis]}});
  return terms.Transpose(normalized, read->perm);
}

// args: s, p, x
ClassId SoftmaxOfTranspose(Terms& terms, std::span<const Binding> args) {
  const OpWord& softmax = terms.word(args[0].op);
  const auto read = ReadTransposedSoftmax(softmax, terms.word(args[1].op), terms.type(args[2].id));
  if (!read) return ClassId();
  const int64_t axis = std::ranges::find(read->perm, read->axis) - read->perm.begin();
  return terms.Op(softmax.name, {terms.Transpose(args[2].id, read->perm)}, {{"axis", axis}});
}

// The summand may be larger than the deviation that x is divided by, and rounds x then.
constexpr double kMostUnshifted = 8;

// args: n, x, c, s, t..
ClassId LayerNormUnshifted(Terms& terms, std::span<const Binding> args) {
  const TensorType& x = terms.type(args[1].id);
  const TensorType& c = terms.type(args[2].id);
  const OpWord& word = terms.word(args[0].op);
  int64_t axis = word.attributes.GetInt("axis", -1);
  if (axis < 0) axis += x.rank();
  // From the normalized axes on, c must be the same everywhere.
  for (int64_t own = std::max<int64_t>(0, axis - (x.rank() - c.rank())); own < c.rank(); ++own) {
    if (!c.dim(static_cast<int>(own)).Is(1)) return ClassId();
  }
  if (!(SizesOf(terms.data(args[2].id)).largest <= kMostUnshifted)) return ClassId();
  std::vector<ClassId> operands = {args[1].id, args[3].id};
  operands.insert(operands.end(), args[4].list.begin(), args[4].list.end());
  return terms.Op("LayerNormalization", operands, word.attributes);
}

// args: n, x, s, b.., t, c..
ClassId LayerNormSum(Terms& terms, std::span<const Binding> args) {
  const auto first = Optional(args[3].list), second = Optional(args[5].list);
  std::vector<ClassId> operands = {args[1].id, terms.Summed(args[2].id, args[4].id)};
  for (const auto& bias : {first, second}) {
    if (bias && !terms.data(*bias).weight_only) return ClassId();
  }
  if (first && second) {
    if (!SameShape(terms.type(*first), terms.type(*second))) return ClassId();
    operands.push_back(terms.Summed(*first, *second));
  } else if (first || second) {
    operands.push_back(first ? *first : *second);
  }
  return terms.Op("LayerNormalization", operands, terms.word(args[0].op).attributes);
}

// In float16 the sum would be rounded at each step.
ClassId SoftmaxParts(Terms& terms, std::span<const Binding> args) {
  const ClassId x = args[1].id;
  const TensorType& type = terms.type(x);
  if (type.dtype != model::DType::kFloat32 && type.dtype != model::DType::kFloat64) {
    return ClassId();
  }
  if (!type.has_rank()) return ClassId();
  int64_t axis = terms.word(args[0].op).attributes.GetInt("axis", -1);
  if (axis < 0) axis += type.rank();
  // Nothing has no maximum.
  if (axis + 1 >= type.rank() || NumberAt(type, static_cast<int>(axis)).value_or(0) < 1) {
    return ClassId();
  }
  const AttributeMap along = {{"axes", Ints{axis}}};
  const ClassId exp = terms.Op("Exp", {terms.Op("Sub", {x, terms.Op("ReduceMax", {x}, along)})});
  return terms.Op("Div", {exp, terms.Op("ReduceSum", {exp}, along)});
}

void AddWords(Words& words) {
  // x is floating-point and all others are scalars. float64 is refused, because the attributes of
  // the new operators are float32, and ONNX Runtime does not have these operators for float64.
  words.Guard("scalars", "cccc", Purpose::kEquation, [](const View& view, auto args) {
    const TensorType& x = view.type(args[0].id);
    if (!x.has_rank() || !model::IsFloat(x.dtype) || x.dtype == model::DType::kFloat64) {
      return false;
    }
    for (const Binding& scalar : args.subspan(1)) {
      if (!IsScalar(view.type(scalar.id), x.rank())) return false;
    }
    return true;
  });
  words.Guard("swish_slope", "o", Purpose::kEquation, [](const View& view, auto args) {
    const AttributeMap& attributes = view.word(args[0].op).attributes;
    return std::abs(attributes.GetFloat("alpha", 0.2) - 1.0 / 6) < 1e-7 &&
           attributes.GetFloat("beta", 0.5) == 0.5;
  });
  words.Guard("zero_to_six", "o", Purpose::kEquation, [](const View& view, auto args) {
    const AttributeMap& attributes = view.word(args[0].op).attributes;
    return attributes.GetFloat("min", -1) == 0 && attributes.GetFloat("max", -1) == 6;
  });
  words.Term("layernorm", "occ",
             [](Terms& terms, auto args) { return Norm(terms, "LayerNormalization", args); });
  words.Term("rmsnorm", "occ",
             [](Terms& terms, auto args) { return Norm(terms, "RMSNormalization", args); });
  words.Term("rmsnorm_scale", "occc", RmsNormScale);
  words.Term("swish", "c", [](Terms& terms, auto args) { return terms.Op("Swish", {args[0].id}); });
  words.Term("swish_scaled", "cc", [](Terms& terms, auto args) {
    return terms.Op("Swish", {args[0].id},
                    {{"alpha", terms.data(args[1].id).constant->GetDouble(0)}});
  });
  words.Term("gelu", "c", [](Terms& terms, auto args) { return terms.Op("Gelu", {args[0].id}); });
  words.Term("gelu_tanh", "c", [](Terms& terms, auto args) {
    return terms.Op("Gelu", {args[0].id}, {{"approximate", std::string("tanh")}});
  });
  words.Term("hardsigmoid", "c", [](Terms& terms, auto args) {
    // Exporters write one sixth as the nearest float.
    const double sixth = static_cast<double>(1.0f / 6.0f);
    return terms.Op("HardSigmoid", {args[0].id}, {{"alpha", sixth}});
  });
  words.Term("transposed_softmax", "ooc", TransposeOfSoftmax);
  words.Term("softmax_of_transposed", "ooc", SoftmaxOfTranspose);
  words.Term("layernorm_unshifted", "occcl", LayerNormUnshifted);
  words.Term("layernorm_sum", "occlcl", LayerNormSum);
  words.Term("summed", "cc",
             [](Terms& terms, auto args) { return terms.Summed(args[0].id, args[1].id); });
  words.Term("softmax_parts", "oc", SoftmaxParts);
  words.Term("softmax_unshifted", "occ", [](Terms& terms, auto args) {
    const TensorType& x = terms.type(args[1].id);
    const TensorType& c = terms.type(args[2].id);
    const OpWord& word = terms.word(args[0].op);
    if (!x.has_rank() || x.rank() == 0 || !KeepsShape(x, c)) return ClassId();
    int64_t axis = word.attributes.GetInt("axis", -1);
    if (axis < 0) axis += x.rank();
    // The corresponding axis of c. If it is negative, c is broadcast along the axis.
    const int64_t own = axis - (x.rank() - c.rank());
    if (own >= 0 && !c.dim(static_cast<int>(own)).Is(1)) return ClassId();
    return terms.Op("Softmax", {args[1].id}, word.attributes);
  });
}

}  // namespace

Family TransformerFamily() { return {"transformer", kText, AddWords, nullptr}; }

}  // namespace quotient::rules
