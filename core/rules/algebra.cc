// Plain algebra: neutral elements, involutions, re-association with constants, and the spelling of
// one function in several ways. Constants stand on the right of commutative operators
// (TensorDomain::Add sees to that).

#include <cmath>

#include "core/rules/family.h"
#include "core/rules/site_rule.h"
#include "core/rules/types.h"

namespace quotient::rules {
namespace {

constexpr char kText[] = R"(
# x + 0 = x
add-zero: Add(?x, ?c) => ?x if is(?c, 0) and keeps(?x, ?c)
# x - 0 = x
sub-zero: Sub(?x, ?c) => ?x if is(?c, 0) and keeps(?x, ?c)
# x * 1 = x
mul-one: Mul(?x, ?c) => ?x if is(?c, 1) and keeps(?x, ?c)
# x / 1 = x
div-one: Div(?x, ?c) => ?x if is(?c, 1) and keeps(?x, ?c)
# x ^ 1 = x
pow-one: Pow(?x, ?c) => ?x if is(?c, 1) and keeps(?x, ?c)
# x and true = x
and-true: And(?x, ?c) => ?x if is(?c, 1) and keeps(?x, ?c)
# x or false = x
or-false: Or(?x, ?c) => ?x if is(?c, 0) and keeps(?x, ?c)
# not not x = x
not-not: Not(Not(?x)) => ?x
# -(-x) = x
neg-neg: Neg(Neg(?x)) => ?x
# x + (-y) = x - y
add-neg: Add(?x, Neg(?y)) => Sub(?x, ?y)
add-neg: Add(Neg(?y), ?x) => Sub(?x, ?y)
# x - (-y) = x + y, x no constant of zeros: runtimes drop 0 + y, which is not y for y = -0
sub-neg: Sub(?x, Neg(?y)) => Add(?x, ?y) if not is(?x, 0)

# x - c = x + (-c)
sub-constant: Sub(?x, ?c) => Add(?x, Neg(?c)) if weight(?c) and activation(?x) and float(?x)
# x / c = x * (1 / c), c neither tiny nor huge
div-constant: ?z = Div(?x, ?c) => Mul(?x, Reciprocal(?c))
  if invertible(?c) and activation(?x) and float(?x) and smooth(?z)
# x / y = x * (1 / y), y smaller than x
div-small: ?z = Div(?x, ?y) => Mul(?x, Reciprocal(?y))
  if reaches_far(?x) and activation(?x) and activation(?y) and spread(?y, ?x) and smooth(?z)
# x * (1 / y) = x / y
mul-reciprocal: ?z = Mul(?x, Reciprocal(?y)) => Div(?x, ?y)
  if float(?x) and activation(?y) and smooth(?z)
mul-reciprocal: ?z = Mul(Reciprocal(?y), ?x) => Div(?x, ?y)
  if float(?x) and activation(?y) and smooth(?z)
# 1 / x is Reciprocal(x)
div-of-one: Div(?c, ?x) => Reciprocal(?x) if is(?c, 1) and float(?x) and keeps(?x, ?c)

# (x + c) + d = x + (c + d)
add-constants: ?z = Add(Add(?x, ?c), ?d) => Add(?x, Add(?c, ?d))
  if weight(?c) and weight(?d) and activation(?x) and summable(?c, ?d) and smooth(?z)
    and shift_beside(?x, ?c) and shift_beside(?x, ?d)
# (x * c) * d = x * (c * d)
mul-constants: ?z = Mul(Mul(?x, ?c), ?d) => Mul(?x, Mul(?c, ?d))
  if weight(?c) and weight(?d) and activation(?x) and factor(?c) and factor(?d) and smooth(?z)
# (x + c) + (y + d) = (x + y) + (c + d)
add-pairs: ?z = Add(Add(?x, ?c), Add(?y, ?d)) => Add(Add(?x, ?y), Add(?c, ?d))
  if weight(?c) and weight(?d) and activation(?x) and activation(?y) and same(?x, ?y)
    and summable(?c, ?d) and smooth(?z) and shift_beside(?x, ?c) and shift_beside(?y, ?d)
# (x * c) * y = (x * y) * c: constants go last
mul-rotate: ?z = Mul(Mul(?x, ?c), ?y) => Mul(Mul(?x, ?y), ?c)
  if weight(?c) and activation(?x) and activation(?y) and reaches_far(?x) and scalar(?c, ?x)
    and near_one(?c) and smooth(?z)
mul-rotate: ?z = Mul(?y, Mul(?x, ?c)) => Mul(Mul(?y, ?x), ?c)
  if weight(?c) and activation(?x) and activation(?y) and reaches_far(?x) and scalar(?c, ?x)
    and near_one(?c) and smooth(?z)
# (x + c) * d = x * d + c * d
mul-over-add: ?z = Mul(Add(?x, ?c), ?d) => Add(Mul(?x, ?d), Mul(?c, ?d))
  if weight(?c) and weight(?d) and activation(?x) and shift(?c) and factor(?d) and smooth(?z)
# x * c + y * c = (x + y) * c
factor-constant: ?z = Add(Mul(?x, ?c), Mul(?y, ?c)) => Mul(Add(?x, ?y), ?c)
  if weight(?c) and activation(?x) and activation(?y) and reaches_far(?x) and same(?x, ?y)
    and factor(?c) and smooth(?z)

factor-constant: ?z = Sub(Mul(?x, ?c), Mul(?y, ?c)) => Mul(Sub(?x, ?y), ?c)
  if weight(?c) and activation(?x) and activation(?y) and reaches_far(?x) and same(?x, ?y)
    and factor(?c) and smooth(?z)
# x g - y g = (x - y) g, g a gate, which is neither infinite nor large; sums alike. The sum of two
# constants such as those of a mask may be infinite.
factor-gate: ?z = Sub(Mul(?x, ?g), Mul(?y, ?g)) => Mul(Sub(?x, ?y), ?g)
  if activation(?g) and bounded(?g) and activation(?x) and activation(?y) and reaches_far(?x)
    and same(?x, ?y) and smooth(?z)
factor-gate: ?z = Sub(Mul(?g, ?x), Mul(?y, ?g)) => Mul(Sub(?x, ?y), ?g)
  if activation(?g) and bounded(?g) and activation(?x) and activation(?y) and reaches_far(?x)
    and same(?x, ?y) and smooth(?z)
factor-gate: ?z = Sub(Mul(?x, ?g), Mul(?g, ?y)) => Mul(Sub(?x, ?y), ?g)
  if activation(?g) and bounded(?g) and activation(?x) and activation(?y) and reaches_far(?x)
    and same(?x, ?y) and smooth(?z)
factor-gate: ?z = Sub(Mul(?g, ?x), Mul(?g, ?y)) => Mul(Sub(?x, ?y), ?g)
  if activation(?g) and bounded(?g) and activation(?x) and activation(?y) and reaches_far(?x)
    and same(?x, ?y) and smooth(?z)
factor-gate: ?z = Add(Mul(?x, ?g), Mul(?y, ?g)) => Mul(Add(?x, ?y), ?g)
  if activation(?g) and bounded(?g) and activation(?x) and activation(?y) and reaches_far(?x)
    and same(?x, ?y) and smooth(?z)
factor-gate: ?z = Add(Mul(?g, ?x), Mul(?y, ?g)) => Mul(Add(?x, ?y), ?g)
  if activation(?g) and bounded(?g) and activation(?x) and activation(?y) and reaches_far(?x)
    and same(?x, ?y) and smooth(?z)
factor-gate: ?z = Add(Mul(?x, ?g), Mul(?g, ?y)) => Mul(Add(?x, ?y), ?g)
  if activation(?g) and bounded(?g) and activation(?x) and activation(?y) and reaches_far(?x)
    and same(?x, ?y) and smooth(?z)
factor-gate: ?z = Add(Mul(?g, ?x), Mul(?g, ?y)) => Mul(Add(?x, ?y), ?g)
  if activation(?g) and bounded(?g) and activation(?x) and activation(?y) and reaches_far(?x)
    and same(?x, ?y) and smooth(?z)
# -(x - y) = y - x
neg-of-sub: Neg(Sub(?x, ?y)) => Sub(?y, ?x) if float(?x)
# (-x) * (-y) = x * y, and the same for a quotient and a MatMul
product-of-negs: Mul(Neg(?x), Neg(?y)) => Mul(?x, ?y) if float(?x)
product-of-negs: Div(Neg(?x), Neg(?y)) => Div(?x, ?y) if float(?x)
product-of-negs: MatMul(Neg(?x), Neg(?y)) => MatMul(?x, ?y) if float(?x)

# x ^ 2 = x * x
pow-two: Pow(?x, ?c) => Mul(?x, ?x) if is(?c, 2) and float(?x) and keeps(?x, ?c)
# x ^ 0.5 = Sqrt(x), but for -inf
pow-half: Pow(?x, ?c) => Sqrt(?x)
  if is(?c, 0.5) and float(?x) and keeps(?x, ?c) and nonnegative(?x)
# x ^ -0.5 = 1 / Sqrt(x), but for -inf
pow-minus-half: ?z = Pow(?x, ?c) => Reciprocal(Sqrt(?x))
  if is(?c, -0.5) and float(?x) and keeps(?x, ?c) and nonnegative(?x) and smooth(?z)
# x ^ -1 = 1 / x
pow-minus-one: Pow(?x, ?c) => Reciprocal(?x) if is(?c, -1) and float(?x) and keeps(?x, ?c)

# Relu(x) = x, x not negative
relu-nonnegative: ?z = Relu(?x) => ?x if nonnegative(?x) and regular(?z)
# |x| = x, x not negative
abs-nonnegative: ?z = Abs(?x) => ?x if nonnegative(?x) and regular(?z)
# Relu(x c) = Relu(x) c, c positive; so for LeakyRelu
relu-of-scale: ?z = Relu(Mul(?x, ?c)) => Mul(Relu(?x), ?c)
  if weight(?c) and activation(?x) and nonnegative(?c) and invertible(?c)
relu-of-scale: ?z = LeakyRelu[?f](Mul(?x, ?c)) => Mul(LeakyRelu[?f](?x), ?c)
  if weight(?c) and activation(?x) and nonnegative(?c) and invertible(?c) and factor(?c)
    and smooth(?z)
# Max(x, 0) = Relu(x)
max-zero: Max(?x, ?c) => Relu(?x) if is(?c, 0) and single(?x) and keeps(?x, ?c)
# Max(x, x) = x
max-self: Max(?x, ?x) => ?x
# Min(x, x) = x
min-self: Min(?x, ?x) => ?x
# Max(x, y) + Min(x, y) = x + y, y no constant of zeros (see sub-neg)
add-max-min: Add(Max(?x, ?y), Min(?x, ?y)) => Add(?x, ?y) if float(?x) and not is(?y, 0)
add-max-min: Add(Max(?x, ?y), Min(?y, ?x)) => Add(?x, ?y) if float(?x)
add-max-min: Add(Min(?x, ?y), Max(?x, ?y)) => Add(?x, ?y) if float(?x) and not is(?y, 0)
add-max-min: Add(Min(?x, ?y), Max(?y, ?x)) => Add(?x, ?y) if float(?x)
# Max(x, y) * Min(x, y) = x * y
mul-max-min: Mul(Max(?x, ?y), Min(?x, ?y)) => Mul(?x, ?y) if float(?x)
mul-max-min: Mul(Max(?x, ?y), Min(?y, ?x)) => Mul(?x, ?y) if float(?x)
mul-max-min: Mul(Min(?x, ?y), Max(?x, ?y)) => Mul(?x, ?y) if float(?x)
mul-max-min: Mul(Min(?x, ?y), Max(?y, ?x)) => Mul(?x, ?y) if float(?x)
# Max(Min(x, v), Min(y, v)) = Min(Max(x, y), v)
max-of-mins: Max(Min(?x, ?v), Min(?y, ?v)) => Min(Max(?x, ?y), ?v)
max-of-mins: Max(Min(?v, ?x), Min(?y, ?v)) => Min(Max(?x, ?y), ?v)
max-of-mins: Max(Min(?x, ?v), Min(?v, ?y)) => Min(Max(?x, ?y), ?v)
max-of-mins: Max(Min(?v, ?x), Min(?v, ?y)) => Min(Max(?x, ?y), ?v)
# Min(Max(x, v), Max(y, v)) = Max(Min(x, y), v)
min-of-maxes: Min(Max(?x, ?v), Max(?y, ?v)) => Max(Min(?x, ?y), ?v)
min-of-maxes: Min(Max(?v, ?x), Max(?y, ?v)) => Max(Min(?x, ?y), ?v)
min-of-maxes: Min(Max(?x, ?v), Max(?v, ?y)) => Max(Min(?x, ?y), ?v)
min-of-maxes: Min(Max(?v, ?x), Max(?v, ?y)) => Max(Min(?x, ?y), ?v)
# Max(x, Relu(x)) = Relu(x)
max-relu: Max(?x, Relu(?x)) => Relu(?x)
max-relu: Max(Relu(?x), ?x) => Relu(?x)
# Max(Relu(x), Relu(y)) = Relu(Max(x, y))
max-of-relus: Max(Relu(?x), Relu(?y)) => Relu(Max(?x, ?y)) if single(?x)
# Max(-x, -y) = -Min(x, y), and the same with Max and Min exchanged
max-of-negs: Max(Neg(?x), Neg(?y)) => Neg(Min(?x, ?y)) if float(?x)
max-of-negs: Min(Neg(?x), Neg(?y)) => Neg(Max(?x, ?y)) if float(?x)
# Clip(x; 0, inf) = Relu(x), but for inf: the bound that a Clip leaves out is the largest number
clip-relu: Clip[?c](?x) => Relu(?x) if clip_is_relu(?c) and single(?x) and below_infinity(?x)
# Clip(Relu(x); a, b) = Clip(x; max(a, 0), b), b not negative
clip-of-relu: Clip[?c](Relu(?x)) => clip_above_zero(?c, ?x) if float(?x)
# Clip(Clip(x; a, b); c, d) = one Clip, if c <= b and a <= d
clip-of-clip: Clip[?c](Clip[?d](?x)) => clip_both(?c, ?d, ?x) if float(?x)
# Relu(Clip(x; a, b)) = Clip(x; max(a, 0), b), b not negative
relu-of-clip: Relu(Clip[?c](?x)) => clip_above_zero(?c, ?x) if float(?x)

# ReduceMean(x) = GlobalAveragePool(x), over all of an image: runtimes pool in blocked layouts
mean-pool: ?z = ReduceMean[?m](?x) => global_pool(?x) if averages_images(?m, ?x) and smooth(?z)

# Identity(x) = x
identity: Identity(?x) => ?x
# Dropout(x) = x, in inference
dropout: Dropout(?x) => ?x
# Cast(x) = x, x of that type already
cast-same: Cast[?c](?x) => ?x if casts_to_own_type(?c, ?x)
# Cast(Cast(x)) = Cast(x), if the first loses nothing
cast-cast: Cast[?c](Cast[?d](?x)) => recast(?c, ?x) if recasts(?c, ?d, ?x)
# Where(c, x, x) = x
where-self: ?y = Where(?c, ?x, ?x) => ?x if same(?y, ?x)
# Where(not c, x, y) = Where(c, y, x)
where-not: Where(Not(?c), ?x, ?y) => Where(?c, ?y, ?x)
)";

// Bounds of a Clip; infinite if missing.
struct Bounds {
  double low = -INFINITY;
  double high = INFINITY;
};

Bounds BoundsOf(const AttributeMap& attributes) {
  return {attributes.GetFloat("min", -INFINITY), attributes.GetFloat("max", INFINITY)};
}

ClassId Clip(Terms& terms, ClassId x, const Bounds& bounds) {
  AttributeMap attributes;
  if (bounds.low != -INFINITY) attributes.Set("min", bounds.low);
  if (bounds.high != INFINITY) attributes.Set("max", bounds.high);
  return terms.Op("Clip", {x}, std::move(attributes));
}

// Whether min <= max. If not, ONNX lets max win, and the equations above do not hold.
bool Ordered(const Bounds& bounds) { return bounds.low <= bounds.high; }

// Whether broadcasting `small` gives `large` at least four times as many elements.
bool IsSpread(const TensorType& small, const TensorType& large) {
  if (!KeepsShape(large, small)) return false;
  for (int i = 1; i <= large.rank(); ++i) {
    const model::Dim& dim = large.dim(large.rank() - i);
    const bool is_one = i > small.rank() || small.dim(small.rank() - i).Is(1);
    if (is_one && dim.is_number() && dim.number() >= 4) return true;
  }
  return false;
}

model::DType CastTarget(const OpWord& word) {
  return model::DTypeFromOnnx(static_cast<int32_t>(word.attributes.GetInt("to", 0)))
      .value_or(model::DType::kUndefined);
}

// Whether every value of type `from` is a value of type `to`.
bool IsLossless(model::DType from, model::DType to) {
  using model::DType;
  if (from == to) return true;
  if (to == DType::kFloat64) {
    return from == DType::kFloat32 || from == DType::kFloat16 || from == DType::kBfloat16 ||
           from == DType::kBool || (model::IsInteger(from) && model::DTypeBits(from) <= 32);
  }
  if (to == DType::kFloat32) {
    return from == DType::kFloat16 || from == DType::kBfloat16 || from == DType::kBool ||
           (model::IsInteger(from) && model::DTypeBits(from) <= 16);
  }
  if (from == DType::kBool) return model::IsInteger(to) || model::IsFloat(to);
  const auto is_signed = [](DType dtype) {
    return dtype == DType::kInt8 || dtype == DType::kInt16 || dtype == DType::kInt32 ||
           dtype == DType::kInt64;
  };
  if (!model::IsInteger(from) || !model::IsInteger(to)) return false;
  if (is_signed(from) && !is_signed(to)) return false;
  return model::DTypeBits(from) < model::DTypeBits(to);
}

// Whether casting from `from` to `to` gives the same as casting through `between`. The cast of a
// float that the integer type cannot represent depends on the machine, and integers wrap.
bool Recasts(model::DType from, model::DType between, model::DType to) {
  if (!IsLossless(from, between)) return false;
  const bool as_float = model::IsFloat(between) && model::IsInteger(to);
  return !as_float || model::IsFloat(from) || IsLossless(from, to);
}

void AddWords(Words& words) {
  words.Guard("spread", "cc", Purpose::kCost, [](const View& view, auto args) {
    return IsSpread(view.type(args[0].id), view.type(args[1].id));
  });
  words.Guard("clip_is_relu", "o", Purpose::kEquation, [](const View& view, auto args) {
    const Bounds bounds = BoundsOf(view.word(args[0].op).attributes);
    return bounds.low == 0 && bounds.high == INFINITY;
  });
  words.Term("clip_above_zero", "oc", [](Terms& terms, auto args) {
    Bounds bounds = BoundsOf(terms.word(args[0].op).attributes);
    bounds.low = std::max(bounds.low, 0.0);
    return Ordered(bounds) ? Clip(terms, args[1].id, bounds) : ClassId();
  });
  words.Term("clip_both", "ooc", [](Terms& terms, auto args) {
    const Bounds outer = BoundsOf(terms.word(args[0].op).attributes);
    const Bounds inner = BoundsOf(terms.word(args[1].op).attributes);
    const Bounds both{std::max(outer.low, inner.low), std::min(outer.high, inner.high)};
    if (!Ordered(outer) || !Ordered(inner) || !Ordered(both)) return ClassId();
    return Clip(terms, args[2].id, both);
  });
  words.Guard("averages_images", "oc", Purpose::kEquation, [](const View& view, auto args) {
    const AttributeMap& attributes = view.word(args[0].op).attributes;
    const TensorType& x = view.type(args[1].id);
    const Ints* axes = attributes.FindInts("axes");
    if (x.dtype != model::DType::kFloat32 || !x.has_rank() || x.rank() != 4) return false;
    if (axes == nullptr || attributes.GetInt("keepdims", 1) == 0) return false;
    // The mean of nothing is NaN, but ONNX Runtime refuses to pool it.
    for (const int axis : {1, 2, 3}) {
      if (NumberAt(x, axis).value_or(0) == 0) return false;
    }
    return *axes == Ints{2, 3} || *axes == Ints{-2, -1} || *axes == Ints{-1, -2};
  });
  words.Term("global_pool", "c",
             [](Terms& terms, auto args) { return terms.Op("GlobalAveragePool", {args[0].id}); });
  words.Guard("casts_to_own_type", "oc", Purpose::kEquation, [](const View& view, auto args) {
    const model::DType dtype = view.type(args[1].id).dtype;
    return dtype != model::DType::kUndefined && CastTarget(view.word(args[0].op)) == dtype;
  });
  words.Guard("recasts", "ooc", Purpose::kEquation, [](const View& view, auto args) {
    return Recasts(view.type(args[2].id).dtype, CastTarget(view.word(args[1].op)),
                   CastTarget(view.word(args[0].op)));
  });
  words.Term("recast", "oc", [](Terms& terms, auto args) {
    const OpWord& word = terms.word(args[0].op);
    return terms.Op("Cast", {args[1].id}, word.attributes);
  });
}

// --- fold-constant ---

// Only small results are folded that are quick to compute, because guards need the values of
// scalars, vectors and scales. Weights are folded once, in the result.
constexpr int64_t kMaxFoldedElements = 4096;
constexpr int64_t kMaxReadElements = 1 << 16;

bool IsSmallWork(const View& view, ENodeId enode) {
  const auto node = view.graph().node(enode);
  const TensorType& type = view.type(view.graph().class_of(enode));
  if (!type.is_static() || type.elements() > kMaxFoldedElements) return false;
  int64_t product = 1;
  int64_t bytes_before = 0;
  for (const ClassId child : node.children) {
    const ClassData& data = view.data(child);
    if (data.absent) continue;
    if (!data.constant || data.constant->elements() > kMaxReadElements) return false;
    product *= std::max<int64_t>(1, data.constant->elements());
    if (product > int64_t{1} << 24) return false;
    bytes_before += static_cast<int64_t>(data.constant->bytes().size());
  }
  const int64_t bytes = type.elements() * model::DTypeBits(type.dtype) / 8;
  return bytes <= std::max(view.max_constant_bytes(), bytes_before);
}

bool IsFoldable(const View& view, ENodeId enode) {
  const OpWord& word = view.word(enode);
  return word.sort == OpWord::Sort::kOperator && word.def->evaluate != nullptr &&
         IsSmallWork(view, enode);
}

// Of several ways to compute a class, the first one is folded.
void SearchFoldable(const View& view, std::span<const ENodeId> anchors, const EmitFn& emit) {
  VisitUntilFalse(anchors, [&](ENodeId enode) {
    const ClassId cls = view.graph().class_of(enode);
    const ClassData& data = view.data(cls);
    if (!data.weight_only || data.constant || !IsFoldable(view, enode)) return true;
    for (const ENodeId other : view.graph().nodes(cls)) {
      if (other == enode) break;
      if (IsFoldable(view, other)) return true;
    }
    const auto node = view.graph().node(enode);
    SiteMatch match{{cls}, {node.op}, {}};
    match.classes.insert(match.classes.end(), node.children.begin(), node.children.end());
    return emit(std::move(match));
  });
}

std::vector<Equation> Fold(Terms& terms, const SiteMatch& match) {
  const OpWord& word = terms.word(match.ops[0]);
  model::Node node;
  node.op = word.name;
  node.attributes = word.attributes;
  std::vector<const model::Tensor*> inputs;
  std::vector<model::Tensor> held;  // Copies, because class data moves when e-nodes are added.
  held.reserve(match.classes.size());
  for (size_t i = 1; i < match.classes.size(); ++i) {
    const ClassData& data = terms.data(match.classes[i]);
    if (!data.constant) {
      if (!data.absent) return {};
      inputs.push_back(nullptr);
      node.inputs.push_back(model::ValueId());
      continue;
    }
    held.push_back(*data.constant);
    inputs.push_back(&held.back());
    node.inputs.push_back(model::ValueId(static_cast<uint32_t>(i)));
  }
  node.outputs = {model::ValueId(0)};
  const auto outputs = ops::FoldNode(node, inputs, /*threads=*/1);
  if (!outputs.ok() || outputs->size() != 1) return {};
  return {{match.classes[0], terms.Constant((*outputs)[0])}};
}

void AddRules(TensorDomain* domain, RuleList& rules) {
  rules.push_back(
      std::make_unique<SiteRule>(domain, "fold-constant", "f(constants) = the constant, if small",
                                 std::span<const absl::string_view>(), SearchFoldable, Fold));
}

}  // namespace

Family AlgebraFamily() { return {"algebra", kText, AddWords, AddRules}; }

}  // namespace quotient::rules
