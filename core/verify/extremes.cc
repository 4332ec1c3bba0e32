#include "core/verify/extremes.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <optional>

#include "absl/algorithm/container.h"
#include "absl/strings/string_view.h"
#include "core/ops/op.h"
#include "core/verify/elements.h"
#include "core/verify/rounding.h"
#include "core/verify/thresholds.h"

namespace quotient::verify {
namespace {

using model::DType;
using model::Graph;
using model::Node;
using model::Tensor;
using model::ValueId;
using ops::Movement;
using ops::OpClass;

// Larger constants are not read.
constexpr int64_t kMostElements = 1 << 16;

// Functions of one float that have a bounded result for numbers of any size.
constexpr absl::string_view kBounded[] = {"Atan", "Erf",      "HardSigmoid", "Sigmoid",
                                          "Sign", "Softsign", "Tanh"};
// Functions of one float that keep large numbers about as large, or make them small.
constexpr absl::string_view kKeeping[] = {"Abs", "Ceil", "Celu",  "Elu",  "Floor",   "LeakyRelu",
                                          "Neg", "Relu", "Round", "Selu", "Softplus"};
// Functions of integers. All of them wrap, or are exact.
constexpr absl::string_view kOfIntegers[] = {"Abs", "Add", "Clip", "Div",  "Max", "Min",
                                             "Mod", "Mul", "Neg",  "Sign", "Sub", "Where"};

bool IsComparison(const Graph& graph, const Node& node, const ops::OpDef& op) {
  return op.numerics.at_infinity == ops::AtInfinity::kEnds &&
         graph.value(node.outputs[0]).type.dtype == DType::kBool;
}

// The magnitudes of factors. Zeros, which leave nothing to compare, are not counted.
struct Growth {
  double least = 1;
  double most = 1;
};

// What multiplying by a constant does, or dividing by it. Nullopt if that is not known.
std::optional<Growth> GrowthBy(const std::optional<Tensor>& constant, bool divides) {
  if (!constant.has_value() || constant->elements() > kMostElements) return std::nullopt;
  constexpr double kInfinity = std::numeric_limits<double>::infinity();
  Growth growth = {.least = kInfinity, .most = 0};
  const bool is_unknown = AnyElement(*constant, [&](double value) {
    const double factor = divides ? 1 / std::abs(value) : std::abs(value);
    if (factor == 0) return false;
    growth.least = std::min(growth.least, factor);
    growth.most = std::max(growth.most, factor);
    return !std::isfinite(factor);
  });
  if (is_unknown) return std::nullopt;
  return growth.most == 0 ? Growth() : growth;
}

class ExtremesFinder {
 public:
  explicit ExtremesFinder(const Graph& graph) : graph_(graph), of_value_(graph.values.size()) {
    for (size_t n = graph.nodes.size(); n-- > 0;) Visit(graph.nodes[n]);
  }

  const Extremes& Of(ValueId input) const { return of_value_[input.value()]; }

 private:
  void Visit(const Node& node) {
    const ops::OpDef* const op = ops::FindOp(node.op);
    Extremes behind;
    for (const ValueId output : node.outputs) {
      if (!output.valid()) continue;
      behind.takes_nan &= Of(output).takes_nan;
      behind.takes_largest &= Of(output).takes_largest;
      behind.least_growth = std::min(behind.least_growth, Of(output).least_growth);
      behind.most_growth = std::max(behind.most_growth, Of(output).most_growth);
    }
    for (size_t i = 0; i < node.inputs.size(); ++i) {
      if (!node.inputs[i].valid()) continue;
      Extremes& extremes = of_value_[node.inputs[i].value()];
      extremes.takes_nan &= op != nullptr && TakesNan(*op, node, i, behind.takes_nan);
      extremes.takes_largest &= op != nullptr && TakesLargest(*op, node, i, behind.takes_largest);
      const Growth growth = GrowthOf(node, i).value_or(Growth());
      extremes.least_growth = std::min(extremes.least_growth, growth.least * behind.least_growth);
      extremes.most_growth = std::max(extremes.most_growth, growth.most * behind.most_growth);
    }
  }

  DType TypeOf(ValueId id) const { return graph_.value(id).type.dtype; }

  // Whether the operator only moves the elements of this input.
  static bool Moves(const ops::OpDef& op, size_t input) {
    return op.movement == Movement::kFromAll || (op.movement != Movement::kNone && input == 0);
  }

  bool TakesNan(const ops::OpDef& op, const Node& node, size_t input, bool behind) const {
    if (op.op_class == OpClass::kShape || IsComparison(graph_, node, op)) return true;
    if (IsGuardOf(node, input)) return true;
    const DType to = TypeOf(node.outputs[0]);
    if (node.op == "Cast") return to == DType::kBool || (model::IsFloat(to) && behind);
    const bool is_elementwise =
        op.op_class == OpClass::kUnary || op.op_class == OpClass::kBinary || Moves(op, input);
    return is_elementwise && model::IsFloat(to) && behind;
  }

  // Whether the node is Where(IsNaN(v), u, v) and the input is its last.
  bool IsGuardOf(const Node& node, size_t input) const {
    if (node.op != "Where" || input != 2) return false;
    const model::NodeId condition = graph_.value(node.inputs[0]).producer;
    return condition.valid() && graph_.node(condition).op == "IsNaN" &&
           graph_.node(condition).inputs[0] == node.inputs[2];
  }

  bool TakesLargest(const ops::OpDef& op, const Node& node, size_t input, bool behind) const {
    if (op.op_class == OpClass::kShape || IsComparison(graph_, node, op)) return true;
    if (node.op == "Cast") {
      return CastTakesLargest(TypeOf(node.inputs[0]), TypeOf(node.outputs[0]), behind);
    }
    if (Moves(op, input)) return behind;
    if (!model::IsFloat(TypeOf(node.inputs[input]))) {
      return absl::c_linear_search(kOfIntegers, node.op) && behind;
    }
    if (absl::c_linear_search(kBounded, node.op)) return true;
    if (node.op == "Clip") return HasBothBounds(node) || behind;
    if (node.op == "Max" || node.op == "Min" || node.op == "Where") return behind;
    return behind && (absl::c_linear_search(kKeeping, node.op) || GrowthOf(node, input));
  }

  // Runtimes disagree on what a cast makes of floats beyond the range of an integer, and float16
  // does not hold kHuge. The limits of integers as floats would hide smaller elements beside them.
  static bool CastTakesLargest(DType from, DType to, bool behind) {
    if (to == DType::kBool) return true;
    if (model::IsFloat(from) != model::IsFloat(to)) return false;
    return to != DType::kFloat16 && behind;
  }

  // The bounds that exporters write for "none" are the largest floats.
  static bool HasBothBounds(const Node& node) {
    constexpr double kInfinity = std::numeric_limits<double>::infinity();
    return node.attributes.GetFloat("min", -kInfinity) >= -kLargestThreshold &&
           node.attributes.GetFloat("max", kInfinity) <= kLargestThreshold;
  }

  // What becomes of this operand where a constant is added to it or scales it. Nullopt elsewhere: a
  // sum or a product of two activations may cancel or overflow in one order and not in another.
  std::optional<Growth> GrowthOf(const Node& node, size_t input) const {
    if (node.op == "LeakyRelu") {
      const double slope = std::abs(node.attributes.GetFloat("alpha", 0.01));
      return Growth{std::min(slope, 1.0), std::max(slope, 1.0)};
    }
    if (node.inputs.size() != 2 || !node.inputs[1 - input].valid()) return std::nullopt;
    const std::optional<Tensor>& other = graph_.value(node.inputs[1 - input]).constant;
    if (node.op == "Mul") return GrowthBy(other, /*divides=*/false);
    if (node.op == "Div" && input == 0) return GrowthBy(other, /*divides=*/true);
    const bool is_sum = node.op == "Add" || node.op == "Sub";
    return is_sum && other.has_value() ? std::optional<Growth>(Growth()) : std::nullopt;
  }

  const Graph& graph_;
  std::vector<Extremes> of_value_;
};

}  // namespace

std::vector<Extremes> FindExtremes(const Graph& graph) {
  const ExtremesFinder finder(graph);
  std::vector<Extremes> extremes;
  extremes.reserve(graph.inputs.size());
  for (const ValueId input : graph.inputs) {
    extremes.push_back(finder.Of(input));
    Extremes& of_input = extremes.back();
    const DType dtype = graph.value(input).type.dtype;
    if (!model::IsFloat(dtype)) continue;
    constexpr double kLargestFloat = 1e38;
    of_input.takes_largest &= dtype != DType::kFloat16 &&
                              kHuge * of_input.least_growth > LargestOrdinary(dtype) &&
                              kHuge * of_input.most_growth < kLargestFloat;
  }
  return extremes;
}

}  // namespace quotient::verify
