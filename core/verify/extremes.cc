#include "core/verify/extremes.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "absl/algorithm/container.h"
#include "absl/strings/string_view.h"
#include "core/ops/op.h"
#include "core/verify/elements.h"

namespace quotient::verify {
namespace {

using model::DType;
using model::Graph;
using model::Node;
using model::Tensor;
using model::ValueId;
using ops::Movement;
using ops::OpClass;

// The largest factor that keeps a number about as large.
constexpr double kLargestFactor = 256;
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

// Whether multiplying by a constant, or dividing by it, keeps a number about as large or makes it
// smaller.
bool IsModest(const std::optional<Tensor>& constant, bool divides) {
  if (!constant.has_value() || constant->elements() > kMostElements) return false;
  return !AnyElement(*constant, [divides](double value) {
    const double factor = divides ? 1 / std::abs(value) : std::abs(value);
    return !(factor <= kLargestFactor);
  });
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
    }
    for (size_t i = 0; i < node.inputs.size(); ++i) {
      if (!node.inputs[i].valid()) continue;
      Extremes& extremes = of_value_[node.inputs[i].value()];
      extremes.takes_nan &= op != nullptr && TakesNan(*op, node, i, behind.takes_nan);
      extremes.takes_largest &= op != nullptr && TakesLargest(*op, node, i, behind.takes_largest);
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
    return (absl::c_linear_search(kKeeping, node.op) || HasModestOperand(node, input)) && behind;
  }

  // Runtimes disagree on what a cast makes of floats beyond the range of an integer, and float16
  // does not hold kHuge. The limits of integers as floats would hide smaller elements beside them.
  static bool CastTakesLargest(DType from, DType to, bool behind) {
    if (to == DType::kBool) return true;
    if (model::IsFloat(from) != model::IsFloat(to)) return false;
    return to != DType::kFloat16 && behind;
  }

  static bool HasBothBounds(const Node& node) {
    constexpr double kInfinity = std::numeric_limits<double>::infinity();
    return node.attributes.GetFloat("min", -kInfinity) > -kInfinity &&
           node.attributes.GetFloat("max", kInfinity) < kInfinity;
  }

  // Whether a constant is added to this operand, or scales it by an ordinary factor. A sum or a
  // product of two activations may cancel or overflow in one order and not in another.
  bool HasModestOperand(const Node& node, size_t input) const {
    if (node.inputs.size() != 2) return false;
    const std::optional<Tensor>& other = graph_.value(node.inputs[1 - input]).constant;
    if (node.op == "Add" || node.op == "Sub") return other.has_value();
    if (node.op == "Mul") return IsModest(other, /*divides=*/false);
    return node.op == "Div" && input == 0 && IsModest(other, /*divides=*/true);
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
    extremes.back().takes_largest &= graph.value(input).type.dtype != DType::kFloat16;
  }
  return extremes;
}

}  // namespace quotient::verify
