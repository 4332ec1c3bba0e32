#include "core/domain/facts.h"

#include <algorithm>
#include <cmath>
#include <vector>

namespace quotient::domain {
namespace {

constexpr double kInfinity = Interval::kInfinity;

bool HasFacts(const FactInput& input) { return input.facts != nullptr && input.type != nullptr; }

// --- Bounds ---

Interval BoundsOf(const ops::OpDef& def, const model::AttributeMap& attributes,
                  std::span<const FactInput> inputs, const model::TensorType& output) {
  // An element type that is not known yet may turn out to be any.
  if (!model::IsComputable(output.dtype)) return {};
  std::vector<ops::BoundsInput> known;
  for (const FactInput& input : inputs) {
    if (input.facts == nullptr) {
      known.push_back({.type = input.type});
    } else {
      known.push_back({&input.facts->values, input.type, input.facts->softmax_safe()});
    }
  }
  return ops::BoundsOf(def,
                       {.attributes = attributes,
                        .inputs = known,
                        .output = output,
                        .same_operands = inputs.size() == 2 && inputs[0].cls == inputs[1].cls});
}

// --- Rows ---

// Whether the operator keeps the rows of input 0 or copies them whole. Expand repeats rows, or
// lengthens rows of one element by repeating that element.
bool KeepsRows(const ops::OpDef& def) {
  return def.movement == ops::Movement::kCopy || def.name == absl::string_view("Expand");
}

// In every row, one summand reaches its row floor somewhere, and the other is at least its lower
// bound there.
double RowFloorOfSum(const Facts& a, const Facts& b) {
  const double floor = std::max(a.values.low + b.row_floor, a.row_floor + b.values.low);
  return std::isnan(floor) ? -kInfinity : floor;
}

double RowFloor(const ops::OpDef& def, std::span<const FactInput> inputs) {
  if (inputs.empty() || !std::all_of(inputs.begin(), inputs.end(), HasFacts)) return -kInfinity;
  if (def.name == absl::string_view("Add"))
    return RowFloorOfSum(*inputs[0].facts, *inputs[1].facts);
  if (KeepsRows(def)) return inputs[0].facts->row_floor;
  if (def.movement != ops::Movement::kFromAll) return -kInfinity;
  double floor = kInfinity;
  for (const FactInput& input : inputs) floor = std::min(floor, input.facts->row_floor);
  return floor;
}

// --- Ties ---

// The number of elements along the axes of a reduction with keepdims; nullopt if not known.
std::optional<double> ReducedElements(const model::AttributeMap& attributes,
                                      const model::TensorType& input) {
  const model::Ints* axes = attributes.FindInts("axes");
  if (axes == nullptr || !input.has_rank() || attributes.GetInt("keepdims", 1) == 0) {
    return std::nullopt;
  }
  double elements = 1;
  for (int64_t axis : *axes) {
    if (axis < 0) axis += input.rank();
    if (axis < 0 || axis >= input.rank() || !input.dim(static_cast<int>(axis)).is_number()) {
      return std::nullopt;
    }
    elements *= static_cast<double>(input.dim(static_cast<int>(axis)).number());
  }
  return elements;
}

// Rounding is monotone, so a sum of non-negative numbers is not below any of them, in any order.
// Dividing by the count may lose the last bit, for which kRounding allows.
std::optional<Tie> TieOf(absl::string_view op, const model::AttributeMap& attributes,
                         std::span<const FactInput> inputs) {
  constexpr double kRounding = 0.99;
  if (inputs.empty() || !HasFacts(inputs[0])) return std::nullopt;
  const std::optional<Tie>& first = inputs[0].facts->tie;
  if (op == "Mul" && inputs[0].cls == inputs[1].cls) return Tie{inputs[0].cls};
  if (op == "Pow" && inputs[1].constant != nullptr && inputs[1].constant->elements() == 1 &&
      inputs[1].constant->rank() <= (inputs[0].type->has_rank() ? inputs[0].type->rank() : 0) &&
      inputs[1].facts->values == Interval{2, 2, false}) {
    return Tie{inputs[0].cls};
  }
  if (!first) return std::nullopt;
  Tie tie = *first;
  if (op == "ReduceMean" || op == "ReduceSum") {
    const std::optional<double> elements = ReducedElements(attributes, *inputs[0].type);
    if (!elements || tie.kind == Tie::Kind::kReciprocal || *elements < 1) return std::nullopt;
    if (op == "ReduceMean") tie.factor *= kRounding / *elements;
    return tie;
  }
  if (op == "Add" && HasFacts(inputs[1]) && inputs[1].facts->nonnegative() &&
      inputs[1].constant != nullptr && inputs[1].constant->elements() == 1 &&
      tie.kind != Tie::Kind::kReciprocal) {
    return tie;
  }
  if (op == "Sqrt" && tie.kind == Tie::Kind::kSquare) {
    return Tie{tie.to, Tie::Kind::kSize, std::sqrt(tie.factor) * kRounding};
  }
  if (op == "Reciprocal" && tie.kind == Tie::Kind::kSize) {
    return Tie{tie.to, Tie::Kind::kReciprocal, tie.factor * kRounding};
  }
  return std::nullopt;
}

// A bound on |x v| or |x / v| where v is tied to x. If the square of x underflows the tie does not
// hold, but then x is so small that the bounds on v suffice.
std::optional<double> LargestOfTied(const FactInput& x, const FactInput& v, Tie::Kind kind) {
  if (!HasFacts(x) || !HasFacts(v) || !x.facts->finite() || !v.facts->never_nan()) {
    return std::nullopt;
  }
  const std::optional<Tie>& tie = v.facts->tie;
  if (!tie || tie->to != x.cls || tie->kind != kind) return std::nullopt;
  const double reach =
      kind == Tie::Kind::kSize ? 1 / v.facts->values.low : v.facts->values.magnitude();
  if (!(reach > 0 && reach < kInfinity)) return std::nullopt;
  const double underflows = std::sqrt(ops::SmallestNormalOf(x.type->dtype)) * reach;
  return std::max(1 / tie->factor, underflows) * 1.02;
}

std::optional<double> LargestByTie(absl::string_view op, std::span<const FactInput> inputs) {
  if (op == "Div") return LargestOfTied(inputs[0], inputs[1], Tie::Kind::kSize);
  if (op != "Mul") return std::nullopt;
  const auto bound = LargestOfTied(inputs[0], inputs[1], Tie::Kind::kReciprocal);
  return bound ? bound : LargestOfTied(inputs[1], inputs[0], Tie::Kind::kReciprocal);
}

Facts WithFloor(Facts facts) {
  facts.row_floor = std::max(facts.row_floor, facts.values.low);
  return facts;
}

}  // namespace

Facts Both(const Facts& a, const Facts& b) {
  Facts both;
  both.values = ops::Intersection(a.values, b.values);
  both.row_floor = std::max({a.row_floor, b.row_floor, both.values.low});
  both.tie = a.tie ? a.tie : b.tie;
  return both;
}

Facts FactsOfAnything(const model::TensorType& type) {
  return WithFloor({.values = ops::AnythingOf(type.dtype)});
}

Facts FactsOfInput(const model::TensorType& type, bool assume_finite_inputs) {
  if (!assume_finite_inputs || !model::IsFloat(type.dtype)) return FactsOfAnything(type);
  const double largest = std::min(kLargestAssumedInput, ops::LargestOf(type.dtype));
  return WithFloor({.values = {-largest, largest, false}});
}

Facts FactsOfConstant(const model::Tensor& tensor) {
  if (tensor.elements() == 0) return FactsOfAnything(tensor.type());
  const int64_t row = tensor.rank() == 0 ? 1 : tensor.dims().back();
  Facts facts{.values = {kInfinity, -kInfinity, false}, .row_floor = kInfinity};
  std::vector<double> values(row);
  for (int64_t begin = 0; begin < tensor.elements(); begin += row) {
    tensor.Load(begin, std::span<double>(values));
    double largest = -kInfinity;
    for (const double value : values) {
      if (std::isnan(value)) {
        facts.values.may_be_nan = true;
        continue;
      }
      largest = std::max(largest, value);
      facts.values.low = std::min(facts.values.low, value);
    }
    facts.values.high = std::max(facts.values.high, largest);
    facts.row_floor = std::min(facts.row_floor, largest);
  }
  return facts.values.low <= facts.values.high ? facts : FactsOfAnything(tensor.type());
}

std::optional<Sizes> SizesOfConstant(const model::Tensor& tensor) {
  if (tensor.elements() > kMostReadElements || !model::IsComputable(tensor.dtype())) {
    return std::nullopt;
  }
  Sizes sizes{0, kInfinity};
  for (int64_t i = 0; i < tensor.elements(); ++i) {
    const double size = std::abs(tensor.GetDouble(i));
    if (std::isnan(size)) return Sizes{kInfinity, 0};
    sizes.largest = std::max(sizes.largest, size);
    if (size > 0) sizes.smallest = std::min(sizes.smallest, size);
  }
  return sizes;
}

Facts FactsOfOperator(const ops::OpDef& def, const model::AttributeMap& attributes,
                      std::span<const FactInput> inputs, const model::TensorType& output) {
  Facts facts{.values = BoundsOf(def, attributes, inputs, output)};
  if (!model::IsFloat(output.dtype)) return WithFloor(facts);
  if (const std::optional<double> largest = LargestByTie(def.name, inputs)) {
    facts.values = ops::Intersection(facts.values, {-*largest, *largest, false});
  }
  const double floor = RowFloor(def, inputs);
  facts.row_floor = ops::InType(output.dtype, {floor, std::max(floor, 0.0), false}).low;
  facts.tie = TieOf(def.name, attributes, inputs);
  return WithFloor(facts);
}

}  // namespace quotient::domain
