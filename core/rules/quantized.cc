// Rules about quantized models: QuantizeLinear (Q) and DequantizeLinear (DQ). Every equation holds
// bit for bit, because a rounding that changes becomes a whole step: an operator moves through what
// moves elements, a step absorbs a power of two, and what saturation does anyway is dropped.
//
// Runtimes look for DQ, operator, Q in a row and run them as one operator of integers. Moves are
// therefore taken out from between the three: a DQ moves behind them, and a Q before them.

#include <algorithm>
#include <cmath>
#include <optional>

#include "core/ops/interval.h"
#include "core/rules/concat_split.h"
#include "core/rules/family.h"
#include "core/rules/site_rule.h"
#include "core/rules/types.h"

namespace quotient::rules {
namespace {

constexpr char kText[] = R"(
# Q(DQ(x)) = x, both with the same steps
quantize-of-dequantize: ?y = QuantizeLinear[?q](DequantizeLinear[?d](?x, ?s, ?z), ?s, ?z) => ?x
  if same(?y, ?x) and same_steps(?q, ?d) and recovers(?x, ?s)
quantize-of-dequantize: ?y = QuantizeLinear[?q](DequantizeLinear[?d](?x, ?s), ?s) => ?x
  if same(?y, ?x) and same_steps(?q, ?d) and recovers(?x, ?s)

# Transpose(DQ(x)) = DQ(Transpose(x)), and the same for what else moves elements
move-of-dequantize: Transpose[?m](DequantizeLinear[?d](?x, ?s, ?z...))
  => DequantizeLinear[?d](Transpose[?m](?x), ?s, ?z...) if one_step(?s, ?z) and short_integers(?x)
move-of-dequantize: Reshape[?m](DequantizeLinear[?d](?x, ?s, ?z...), ?r...)
  => DequantizeLinear[?d](Reshape[?m](?x, ?r...), ?s, ?z...) if one_step(?s, ?z) and short_integers(?x)
move-of-dequantize: Slice[?m](DequantizeLinear[?d](?x, ?s, ?z...), ?r...)
  => DequantizeLinear[?d](Slice[?m](?x, ?r...), ?s, ?z...) if one_step(?s, ?z) and short_integers(?x)
move-of-dequantize: Expand[?m](DequantizeLinear[?d](?x, ?s, ?z...), ?r...)
  => DequantizeLinear[?d](Expand[?m](?x, ?r...), ?s, ?z...) if one_step(?s, ?z) and short_integers(?x)
move-of-dequantize: Gather[?m](DequantizeLinear[?d](?x, ?s, ?z...), ?i)
  => DequantizeLinear[?d](Gather[?m](?x, ?i), ?s, ?z...) if one_step(?s, ?z) and short_integers(?x)
# Q(Transpose(x)) = Transpose(Q(x)), and the same for what else keeps or repeats all elements
quantize-of-move: QuantizeLinear[?q](Transpose[?m](?x), ?s, ?z...)
  => Transpose[?m](QuantizeLinear[?q](?x, ?s, ?z...)) if one_step(?s, ?z) and activation(?x)
quantize-of-move: QuantizeLinear[?q](Reshape[?m](?x, ?r...), ?s, ?z...)
  => Reshape[?m](QuantizeLinear[?q](?x, ?s, ?z...), ?r...) if one_step(?s, ?z) and activation(?x)
quantize-of-move: QuantizeLinear[?q](Expand[?m](?x, ?r...), ?s, ?z...)
  => Expand[?m](QuantizeLinear[?q](?x, ?s, ?z...), ?r...) if one_step(?s, ?z) and activation(?x)

# Q(Relu(x)) = Q(x), if the lowest number stands for zero
quantize-of-relu: QuantizeLinear[?q](Relu(?x), ?s, ?z...) => QuantizeLinear[?q](?x, ?s, ?z...)
  if lowest_is_zero(?s, ?z)
# Q(Clip(x)) = Q(x), if the bounds lie where Q saturates
quantize-of-clip: QuantizeLinear[?q](Clip[?c](?x), ?s, ?z...) => QuantizeLinear[?q](?x, ?s, ?z...)
  if saturates_at(?c, ?x, ?s, ?z)
# Clip(DQ(x)) = DQ(x), if no number stands for more than the bounds
clip-of-dequantize: Clip[?c](DequantizeLinear[?d](?x, ?s, ?z...))
  => DequantizeLinear[?d](?x, ?s, ?z...) if stays_within(?c, ?x, ?s, ?z)

# DQ(x; s) c = DQ(x; s c), c a power of two
dequantize-scale: Mul(DequantizeLinear[?d](?x, ?s, ?z...), ?c)
  => DequantizeLinear[?d](?x, longer_step(?s, ?c), ?z...)
  if power_of_two(?c) and scalar(?c, ?x) and short_integers(?x)
dequantize-scale: Div(DequantizeLinear[?d](?x, ?s, ?z...), ?c)
  => DequantizeLinear[?d](?x, shorter_step(?s, ?c), ?z...)
  if power_of_two(?c) and scalar(?c, ?x) and short_integers(?x)
# Q(x c; s) = Q(x; s / c), c a power of two
quantize-scale: QuantizeLinear[?q](Mul(?x, ?c), ?s, ?z...)
  => QuantizeLinear[?q](?x, shorter_step(?s, ?c), ?z...)
  if activation(?x) and power_of_two(?c) and scalar(?c, ?x)
quantize-scale: QuantizeLinear[?q](Div(?x, ?c), ?s, ?z...)
  => QuantizeLinear[?q](?x, longer_step(?s, ?c), ?z...)
  if activation(?x) and power_of_two(?c) and scalar(?c, ?x)
)";

using model::DType;
using model::Tensor;
using ops::Interval;

constexpr int64_t kMostSteps = 1 << 16;  // Longer scales are not read.
constexpr int kMostBinades = 20;         // A power of two is at most that far from 1.

// --- Scales and zero points ---

// Whether one scale and zero point serves the whole tensor, so that it does not matter where an
// element is.
bool IsOneStep(const View& view, ClassId scale, std::span<const ClassId> zero_point) {
  const auto is_one = [&](ClassId cls) {
    const TensorType& type = view.type(cls);
    return type.is_static() && type.elements() == 1;
  };
  return is_one(scale) && std::ranges::all_of(zero_point, is_one);
}

// The scales, if they are constant numbers of that type, all between these bounds. Empty otherwise.
std::vector<double> ScalesBetween(const ClassData& scale, DType dtype, double low, double high) {
  if (!scale.constant || scale.constant->dtype() != dtype ||
      scale.constant->elements() > kMostSteps) {
    return {};
  }
  std::vector<double> scales = scale.constant->AsDoubles();
  const auto fits = [=](double s) { return s >= low && s <= high; };  // Not so for NaN.
  return std::ranges::all_of(scales, fits) ? scales : std::vector<double>();
}

// Scales with which no quotient or product of a step that is not zero leaves the normal numbers.
std::vector<double> OrdinaryScales(const ClassData& scale) {
  return ScalesBetween(scale, DType::kFloat32, 0x1p-100, 0x1p100);
}

// Positions of an axis with a scale and a zero point each.
struct Steps {
  std::vector<double> scales;
  std::vector<int64_t> zero_points;
  Interval numbers;  // Of the integer type.

  size_t size() const { return std::max(scales.size(), zero_points.size()); }
  double scale(size_t i) const { return scales[scales.size() == 1 ? 0 : i]; }
  double zero_point(size_t i) const {
    return static_cast<double>(zero_points[zero_points.size() == 1 ? 0 : i]);
  }
  // In float32, as kernels compute it.
  double Quantized(double x, size_t i) const {
    const float quotient = static_cast<float>(x) / static_cast<float>(scale(i));
    return std::clamp(std::nearbyint(double{quotient}) + zero_point(i), numbers.low, numbers.high);
  }
  double Dequantized(double number, size_t i) const {
    return static_cast<float>(number - zero_point(i)) * static_cast<float>(scale(i));
  }
};

// Nullopt unless all of it is known. `zero_point` is empty or has one class; then `fallback` is the
// type of the integers.
std::optional<Steps> StepsOf(const View& view, ClassId scale, std::span<const ClassId> zero_point,
                             DType fallback) {
  Steps steps{OrdinaryScales(view.data(scale)), {0}, {}};
  DType dtype = fallback;
  if (!zero_point.empty()) {
    const ClassData& data = view.data(zero_point[0]);
    if (!data.constant || data.constant->elements() > kMostSteps) return std::nullopt;
    dtype = data.constant->dtype();
    if (!model::IsInteger(dtype)) return std::nullopt;
    steps.zero_points = data.constant->AsInts();
  }
  const bool are_parallel = steps.scales.size() == 1 || steps.zero_points.size() == 1 ||
                            steps.scales.size() == steps.zero_points.size();
  if (steps.scales.empty() || steps.zero_points.empty() || !are_parallel ||
      !model::IsInteger(dtype) || model::DTypeBits(dtype) > 16) {
    return std::nullopt;
  }
  steps.numbers = ops::AnythingOf(dtype);
  return steps;
}

// Whether holds(i) for every position of the axis.
template <typename Holds>
bool HoldsForAll(const std::optional<Steps>& steps, const Holds& holds) {
  if (!steps.has_value()) return false;
  for (size_t i = 0; i < steps->size(); ++i) {
    if (!holds(i)) return false;
  }
  return true;
}

// --- Guards ---

// Whether rounding never reaches half a step between DQ and Q. Each rounds twice at most, by an
// epsilon of the type relative to at most 2^16 steps.
bool Recovers(const View& view, ClassId x, ClassId scale) {
  const DType dtype = view.type(x).dtype;
  const ClassData& data = view.data(scale);
  if (!model::IsInteger(dtype) || model::DTypeBits(dtype) > 16) return false;
  if (!OrdinaryScales(data).empty()) return true;
  return model::DTypeBits(dtype) == 8 &&
         !ScalesBetween(data, DType::kFloat16, 0x1p-14, 0x1p7).empty();
}

// Numbers of 32 bits are left where they are: ONNX Runtime takes a MatMul of two such
// DequantizeLinears for one of bytes, and then it does not load the model (1.31.1).
bool HasShortIntegers(const TensorType& type) { return model::DTypeBits(type.dtype) <= 16; }

// The bounds of a Clip; nullopt if the upper one is below the lower.
std::optional<Interval> BoundsOf(const OpWord& clip) {
  const Interval bounds{clip.attributes.GetFloat("min", -Interval::kInfinity),
                        clip.attributes.GetFloat("max", Interval::kInfinity), false};
  return bounds.low <= bounds.high ? std::optional(bounds) : std::nullopt;
}

// args: c, x, s, z. Q does not decrease, so it may be applied to the bounds.
bool SaturatesAt(const View& view, std::span<const Binding> args) {
  const std::optional<Interval> bounds = BoundsOf(view.word(args[0].op));
  const auto steps = StepsOf(view, args[2].id, args[3].list, DType::kUint8);
  return bounds.has_value() && view.type(args[1].id).dtype == DType::kFloat32 &&
         HoldsForAll(steps, [&](size_t i) {
           return steps->Quantized(bounds->low, i) == steps->numbers.low &&
                  steps->Quantized(bounds->high, i) == steps->numbers.high;
         });
}

// args: c, x, s, z
bool StaysWithin(const View& view, std::span<const Binding> args) {
  const std::optional<Interval> bounds = BoundsOf(view.word(args[0].op));
  const auto steps = StepsOf(view, args[2].id, args[3].list, view.type(args[1].id).dtype);
  return bounds.has_value() && HoldsForAll(steps, [&](size_t i) {
           return bounds->contains(steps->Dequantized(steps->numbers.low, i)) &&
                  bounds->contains(steps->Dequantized(steps->numbers.high, i));
         });
}

bool IsPowerOfTwo(const ClassData& data) {
  if (!data.constant || data.constant->elements() != 1 ||
      data.constant->dtype() != DType::kFloat32) {
    return false;
  }
  int exponent = 0;
  return std::frexp(data.constant->GetDouble(0), &exponent) == 0.5 &&
         std::abs(exponent - 1) <= kMostBinades;
}

// args: s, c. The scales times the number c, or divided by it.
ClassId ChangedStep(Terms& terms, std::span<const Binding> args, bool longer) {
  std::vector<double> scales = OrdinaryScales(terms.data(args[0].id));
  if (scales.empty()) return ClassId();
  const double c = terms.data(args[1].id).constant->GetDouble(0);
  for (double& scale : scales) scale = longer ? scale * c : scale / c;
  const Ints dims = terms.data(args[0].id).constant->dims();
  return terms.Constant(DType::kFloat32, dims, scales);
}

void AddWords(Words& words) {
  words.Guard("one_step", "cl", Purpose::kEquation, [](const View& view, auto args) {
    return IsOneStep(view, args[0].id, args[1].list);
  });
  words.Guard("same_steps", "oo", Purpose::kEquation, [](const View& view, auto args) {
    return view.word(args[0].op).attributes == view.word(args[1].op).attributes;
  });
  words.Guard("recovers", "cc", Purpose::kEquation,
              [](const View& view, auto args) { return Recovers(view, args[0].id, args[1].id); });
  words.Guard("short_integers", "c", Purpose::kRuntime,
              [](const View& view, auto args) { return HasShortIntegers(view.type(args[0].id)); });
  words.Guard("lowest_is_zero", "cl", Purpose::kEquation, [](const View& view, auto args) {
    const auto steps = StepsOf(view, args[0].id, args[1].list, DType::kUint8);
    return HoldsForAll(steps, [&](size_t i) { return steps->zero_point(i) == steps->numbers.low; });
  });
  words.Guard("saturates_at", "occl", Purpose::kEquation,
              [](const View& view, auto args) { return SaturatesAt(view, args); });
  words.Guard("stays_within", "occl", Purpose::kEquation,
              [](const View& view, auto args) { return StaysWithin(view, args); });
  words.Guard("power_of_two", "c", Purpose::kRounding,
              [](const View& view, auto args) { return IsPowerOfTwo(view.data(args[0].id)); });
  words.Term("longer_step", "cc",
             [](Terms& terms, auto args) { return ChangedStep(terms, args, /*longer=*/true); });
  words.Term("shorter_step", "cc",
             [](Terms& terms, auto args) { return ChangedStep(terms, args, /*longer=*/false); });
}

// --- Concat ---

// The e-node of the class that is a DQ with these steps: scale and maybe zero point, one for all.
std::optional<ENodeId> DequantizedBy(const View& view, ClassId cls,
                                     std::span<const ClassId> steps) {
  for (const ENodeId enode : view.graph().nodes(view.graph().Find(cls))) {
    if (!IsOperator(view.word(enode), "DequantizeLinear")) continue;
    const auto children = view.graph().node(enode).children;
    const auto same = [&](ClassId a, ClassId b) {
      return view.graph().Find(a) == view.graph().Find(b);
    };
    if (std::ranges::equal(children.subspan(1), steps, same)) return enode;
  }
  return std::nullopt;
}

std::vector<ClassId> StepsOfNode(const View& view, ENodeId enode) {
  const auto children = view.graph().node(enode).children;
  return {children.begin() + 1, children.end()};
}

bool IsOneStep(const View& view, std::span<const ClassId> steps) {
  return IsOneStep(view, steps[0], steps.subspan(1));
}

// The steps and the parts of a match: root, steps.., parts...
std::vector<ClassId> With(ClassId first, std::span<const ClassId> steps) {
  std::vector<ClassId> children = {first};
  children.insert(children.end(), steps.begin(), steps.end());
  return children;
}
std::span<const ClassId> StepsIn(const SiteMatch& match) {
  return std::span(match.classes).subspan(1, static_cast<size_t>(match.numbers[0]));
}
std::vector<ClassId> PartsIn(const SiteMatch& match) {
  return {match.classes.begin() + 1 + match.numbers[0], match.classes.end()};
}

// concat-of-dequantize: Concat(DQ(x), DQ(y), ..) = DQ(Concat(x, y, ..)). Match: root, steps, x,
// y..; Concat, DQ; the number of steps.
void SearchConcatOfDequantize(const View& view, std::span<const ENodeId> anchors,
                              const EmitFn& emit) {
  VisitUntilFalse(anchors, [&](ENodeId enode) {
    const auto node = view.graph().node(enode);
    for (const ENodeId first : view.graph().nodes(view.graph().Find(node.children[0]))) {
      if (!IsOperator(view.word(first), "DequantizeLinear")) continue;
      const std::vector<ClassId> steps = StepsOfNode(view, first);
      const ClassId integers = view.graph().node(first).children[0];
      if (!IsOneStep(view, steps) || !HasShortIntegers(view.type(integers))) continue;
      SiteMatch match{With(view.graph().class_of(enode), steps),
                      {node.op, view.graph().node(first).op},
                      {std::ssize(steps)}};
      for (const ClassId part : node.children) {
        const std::optional<ENodeId> same = DequantizedBy(view, part, steps);
        if (!same) break;
        match.classes.push_back(view.graph().node(*same).children[0]);
      }
      const bool all = match.classes.size() == 1 + steps.size() + node.children.size();
      if (all && !emit(std::move(match))) return false;
    }
    return true;
  });
}

std::vector<Equation> DequantizeBehindConcat(Terms& terms, const SiteMatch& match) {
  const ClassId joined = terms.Op("Concat", PartsIn(match), terms.word(match.ops[0]).attributes);
  return {{match.classes[0], terms.Op("DequantizeLinear", With(joined, StepsIn(match)),
                                      terms.word(match.ops[1]).attributes)}};
}

// quantize-of-concat: Q(Concat(x, y, ..)) = Concat(Q(x), Q(y), ..), if some part is a DQ with the
// same steps. Match: root, steps, x, y..; Concat, Q; the number of steps.
void SearchQuantizeOfConcat(const View& view, std::span<const ENodeId> anchors,
                            const EmitFn& emit) {
  VisitUntilFalse(anchors, [&](ENodeId enode) {
    const auto node = view.graph().node(enode);
    const ClassId concat = view.graph().class_of(enode);
    for (const ENodeId parent : view.graph().parents(concat)) {
      const auto outer = view.graph().node(parent);
      if (!IsOperator(view.word(parent), "QuantizeLinear") ||
          view.graph().Find(outer.children[0]) != concat) {
        continue;
      }
      const std::vector<ClassId> steps = StepsOfNode(view, parent);
      const auto cancels = [&](ClassId part) {
        return DequantizedBy(view, part, steps).has_value();
      };
      if (!IsOneStep(view, steps) || std::ranges::none_of(node.children, cancels)) continue;
      SiteMatch match{
          With(view.graph().class_of(parent), steps), {node.op, outer.op}, {std::ssize(steps)}};
      match.classes.insert(match.classes.end(), node.children.begin(), node.children.end());
      if (!emit(std::move(match))) return false;
    }
    return true;
  });
}

std::vector<Equation> QuantizeBeforeConcat(Terms& terms, const SiteMatch& match) {
  std::vector<ClassId> parts = PartsIn(match);
  for (ClassId& part : parts) {
    part =
        terms.Op("QuantizeLinear", With(part, StepsIn(match)), terms.word(match.ops[1]).attributes);
  }
  return {{match.classes[0], terms.Op("Concat", parts, terms.word(match.ops[0]).attributes)}};
}

void AddRules(TensorDomain* domain, RuleList& rules) {
  static constexpr absl::string_view kAnchors[] = {"Concat"};
  rules.push_back(std::make_unique<SiteRule>(
      domain, "concat-of-dequantize", "Concat(DQ(x), DQ(y), ..) = DQ(Concat(x, y, ..))", kAnchors,
      SearchConcatOfDequantize, DequantizeBehindConcat));
  rules.push_back(
      std::make_unique<SiteRule>(domain, "quantize-of-concat",
                                 "Q(Concat(x, y, ..)) = Concat(Q(x), Q(y), ..), if a part is a DQ",
                                 kAnchors, SearchQuantizeOfConcat, QuantizeBeforeConcat));
}

}  // namespace

Family QuantizedFamily() { return {"quantized", kText, AddWords, AddRules}; }

}  // namespace quotient::rules
