// Rules that take functions and normalizations apart that runtimes have slow kernels for: Mish,
// PRelu, GroupNormalization; and those that recognize them, so that every spelling has every form.

#include <optional>

#include "core/base/checked.h"
#include "core/rules/family.h"
#include "core/rules/types.h"

namespace quotient::rules {
namespace {

constexpr char kText[] = R"(
# x Tanh(Softplus(x)) = Mish(x)
mish: ?z = Mul(?x, Tanh(Softplus(?x))) => Mish(?x) if float32(?x) and smooth(?z)
mish: ?z = Mul(Tanh(Softplus(?x)), ?x) => Mish(?x) if float32(?x) and smooth(?z)
# Mish(x) = x n / (n + 2), n = u (u + 2), u = exp(x): Tanh(Log(1 + u)) as a quotient
mish-parts: ?z = Mish(?x) => mish_parts(?x) if float32(?x) and smooth(?z)
mish-parts: ?z = Mul(?x, Tanh(Softplus(?x))) => mish_parts(?x) if float32(?x) and smooth(?z)
mish-parts: ?z = Mul(Tanh(Softplus(?x)), ?x) => mish_parts(?x) if float32(?x) and smooth(?z)
# PRelu(x, s) = LeakyRelu(x; s), all of s equal
prelu-leaky: PRelu(?x, ?s) => prelu_leaky(?x, ?s)
  if float32(?x) and weight(?s) and keeps(?x, ?s)
# PRelu(x, s) = Max(x, x s), s between 0 and 1
prelu-parts: PRelu(?x, ?s) => Max(?x, Mul(?x, ?s)) if float32(?x) and weight(?s) and shrinks(?s)
# PRelu(x, s) = Relu(x) + Min(x, 0) s
prelu-parts: PRelu(?x, ?s) => prelu_sum(?x, ?s)
  if float32(?x) and weight(?s) and not shrinks(?s) and factor(?s)
# GroupNormalization(x; s, b) = InstanceNormalization(x; 1, 0) s + b, where channels of a group are
# one channel
groupnorm-parts: ?z = GroupNormalization[?g](?x, ?s, ?b) => groupnorm_parts(?g, ?x, ?s, ?b)
  if float32(?x) and smooth(?z)
)";

// Beyond this, Tanh(Softplus(x)) is 1, and the square of its exponential is far from infinity.
constexpr double kSaturated = 20;

// args: x
ClassId MishParts(Terms& terms, std::span<const Binding> args) {
  const ClassId x = args[0].id;
  const model::DType dtype = terms.type(x).dtype;
  const ClassId two = terms.Filled(dtype, {}, 2);
  const ClassId u = terms.Op("Exp", {terms.Op("Min", {x, terms.Filled(dtype, {}, kSaturated)})});
  const ClassId n = terms.Op("Mul", {u, terms.Op("Add", {u, two})});
  return terms.Op("Mul", {x, terms.Op("Div", {n, terms.Op("Add", {n, two})})});
}

// args: x, s
ClassId PReluLeaky(Terms& terms, std::span<const Binding> args) {
  const ops::Interval& slopes = terms.data(args[1].id).facts.values;
  if (slopes.may_be_nan || slopes.low != slopes.high) return ClassId();
  return terms.Op("LeakyRelu", {args[0].id}, {{"alpha", slopes.low}});
}

// args: x, s
ClassId PReluSum(Terms& terms, std::span<const Binding> args) {
  const ClassId x = args[0].id;
  const ClassId zero = terms.Filled(terms.type(x).dtype, {}, 0);
  const ClassId below = terms.Op("Mul", {terms.Op("Min", {x, zero}), args[1].id});
  return terms.Op("Add", {terms.Op("Relu", {x}), below});
}

// args: g, x, s, b
ClassId GroupNormParts(Terms& terms, std::span<const Binding> args) {
  const ClassId x = args[1].id;
  const TensorType type = terms.type(x);
  const AttributeMap& attributes = terms.word(args[0].op).attributes;
  const int64_t groups = attributes.GetInt("num_groups", 0);
  if (!type.has_rank() || type.rank() < 3 || type.dim(0).Is(0)) return ClassId();
  std::optional<int64_t> elements = 1;  // What is normalized for one entry of the batch.
  for (int axis = 1; axis < type.rank() && elements; ++axis) {
    const std::optional<int64_t> size = NumberAt(type, axis);
    elements = size ? CheckedProduct(Ints{*elements, *size}) : std::nullopt;
  }
  if (!elements || *elements < 1 || groups < 1 || *elements % groups != 0) return ClassId();
  const ClassId grouped = terms.Reshape(x, {0, groups, *elements / groups});
  const ClassId normalized = terms.Op(
      "InstanceNormalization",
      {grouped, terms.Filled(type.dtype, {groups}, 1), terms.Filled(type.dtype, {groups}, 0)},
      {{"epsilon", attributes.GetFloat("epsilon", 1e-5f)}});
  Ints along_channels(static_cast<size_t>(type.rank() - 1), 1);
  along_channels[0] = *NumberAt(type, 1);
  const ClassId scale = terms.Reshape(args[2].id, along_channels);
  const ClassId bias = terms.Reshape(args[3].id, along_channels);
  return terms.Op("Add", {terms.Op("Mul", {terms.ReshapeTo(normalized, type), scale}), bias});
}

void AddWords(Words& words) {
  words.Guard("float32", "c", Purpose::kRuntime, [](const View& view, auto args) {
    return view.type(args[0].id).dtype == model::DType::kFloat32;
  });
  // Zero times infinity would be NaN.
  words.Guard("shrinks", "c", Purpose::kEquation, [](const View& view, auto args) {
    const ops::Interval& slopes = view.data(args[0].id).facts.values;
    return slopes.low > 0 && slopes.high <= 1 && !slopes.may_be_nan;
  });
  words.Term("mish_parts", "c", MishParts);
  words.Term("prelu_leaky", "cc", PReluLeaky);
  words.Term("prelu_sum", "cc", PReluSum);
  words.Term("groupnorm_parts", "occc", GroupNormParts);
}

}  // namespace

Family PartsFamily() { return {"parts", kText, AddWords, nullptr}; }

}  // namespace quotient::rules
