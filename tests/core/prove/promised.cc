#include "tests/core/prove/promised.h"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <iterator>
#include <limits>
#include <span>
#include <vector>

#include "core/base/status_macros.h"
#include "core/ops/op.h"

namespace quotient::prove {
namespace {

const model::Tensor& ValueOf(const model::Graph& graph, const eval::ValueMap& values,
                             model::ValueId id) {
  const auto found = values.find(id);
  return found != values.end() ? found->second : *graph.value(id).constant;
}

// The values of all inputs and nodes.
absl::StatusOr<eval::ValueMap> AllValues(const model::Graph& graph, const eval::ValueMap& inputs) {
  std::vector<model::ValueId> all = graph.inputs;
  for (const model::Node& node : graph.nodes) {
    std::ranges::copy_if(node.outputs, std::back_inserter(all),
                         [](model::ValueId id) { return id.valid(); });
  }
  return eval::Evaluate(graph, inputs, all, /*threads=*/1);
}

// The smallest positive number of the type that is not subnormal; 0 if it is none of floats.
double SmallestNormal(model::DType dtype) {
  if (dtype == model::DType::kFloat32) return std::numeric_limits<float>::min();
  return dtype == model::DType::kFloat64 ? std::numeric_limits<double>::min() : 0;
}

model::Tensor SignsOf(const model::Tensor& tensor) {
  std::span<std::byte> buffer;
  model::Tensor signs = model::Tensor::Allocate(tensor.dtype(), tensor.dims(), &buffer);
  std::vector<double> elements(static_cast<size_t>(tensor.elements()));
  for (size_t i = 0; i < elements.size(); ++i) {
    elements[i] = std::copysign(tensor.GetDouble(static_cast<int64_t>(i)) == 0 ? 0 : 1,
                                tensor.GetDouble(static_cast<int64_t>(i)));
  }
  model::Store(tensor.dtype(), buffer, 0, std::span<const double>(elements));
  return signs;
}

// Whether a product or quotient is zero only because it is too small: the node gives another number
// for the signs of its operands.
absl::StatusOr<bool> VanishesIn(const model::Graph& graph, const model::Node& node,
                                const eval::ValueMap& values) {
  if (node.op != "Mul" && node.op != "Div") return false;
  std::vector<model::Tensor> signs;
  for (const model::ValueId id : node.inputs) {
    signs.push_back(SignsOf(ValueOf(graph, values, id)));
  }
  const model::Tensor* const operands[] = {&signs[0], &signs[1]};
  QUOTIENT_ASSIGN_OR_RETURN(const auto of_signs, ops::EvaluateNode(node, operands, /*threads=*/1));
  const model::Tensor& result = values.at(node.outputs[0]);
  for (int64_t i = 0; i < result.elements(); ++i) {
    if (result.GetDouble(i) == 0 && of_signs[0].GetDouble(i) != 0) return true;
  }
  return false;
}

// Whether a number of the graph is smaller than the smallest normal one. Rules do not promise what
// becomes of those either: a Mul by a Reciprocal that is subnormal has lost digits that the Div
// has.
absl::StatusOr<bool> Underflows(const model::Graph& graph, const eval::ValueMap& inputs) {
  QUOTIENT_ASSIGN_OR_RETURN(const eval::ValueMap values, AllValues(graph, inputs));
  for (const auto& [id, tensor] : values) {
    const double smallest = SmallestNormal(tensor.dtype());
    for (int64_t i = 0; smallest > 0 && i < tensor.elements(); ++i) {
      const double number = tensor.GetDouble(i);
      if (number != 0 && std::abs(number) < smallest) return true;
    }
  }
  for (const model::Node& node : graph.nodes) {
    if (SmallestNormal(graph.value(node.outputs[0]).type.dtype) == 0) continue;
    QUOTIENT_ASSIGN_OR_RETURN(const bool vanishes, VanishesIn(graph, node, values));
    if (vanishes) return true;
  }
  return false;
}

// The size of the largest element; infinite if one is infinite, 0 if there is none but NaN.
double LargestSize(const model::Tensor& tensor) {
  double largest = 0;
  for (int64_t i = 0; i < tensor.elements(); ++i) {
    largest = std::max(largest, std::abs(tensor.GetDouble(i)));
  }
  return largest;
}

}  // namespace

absl::StatusOr<bool> BlursInfinities(const model::Graph& graph, const eval::ValueMap& inputs) {
  static constexpr absl::string_view kContractions[] = {"Conv", "ConvTranspose", "Gemm", "MatMul"};
  std::vector<model::ValueId> operands;
  for (const model::Node& node : graph.nodes) {
    if (std::ranges::find(kContractions, node.op) == std::end(kContractions)) continue;
    for (const model::ValueId id : node.inputs) {
      if (id.valid()) operands.push_back(id);
    }
  }
  QUOTIENT_ASSIGN_OR_RETURN(const eval::ValueMap values,
                            eval::Evaluate(graph, inputs, operands, /*threads=*/1));
  return std::ranges::any_of(values, [](const auto& value) {
    for (int64_t i = 0; i < value.second.elements(); ++i) {
      if (!std::isfinite(value.second.GetDouble(i))) return true;
    }
    return false;
  });
}

absl::StatusOr<bool> Overflows(const model::Graph& graph, const eval::ValueMap& inputs) {
  constexpr double kHuge = 0x1p63;  // The product of two is a quarter of float32's range.
  QUOTIENT_ASSIGN_OR_RETURN(const eval::ValueMap values, AllValues(graph, inputs));
  return std::ranges::any_of(graph.nodes, [&](const model::Node& node) {
    const model::ValueId output = node.outputs[0];
    if (!output.valid() || !model::IsFloat(graph.value(output).type.dtype)) return false;
    double largest = 0;
    for (const model::ValueId id : node.inputs) {
      if (id.valid()) largest = std::max(largest, LargestSize(ValueOf(graph, values, id)));
    }
    return largest >= kHuge && std::isfinite(largest) && std::isinf(LargestSize(values.at(output)));
  });
}

bool IsCertain(const model::Graph& graph, const eval::ValueMap& inputs) {
  bool is_certain = true;
  const auto look = [&](model::NodeId id, std::span<const model::Tensor* const> operands,
                        std::vector<model::Tensor>&) {
    is_certain = is_certain && ops::FoldNode(graph.node(id), operands, /*threads=*/1).ok();
  };
  return eval::Evaluate(graph, inputs, graph.outputs, /*threads=*/1, {}, look).ok() && is_certain;
}

bool IsPromised(const model::Graph& graph, const eval::ValueMap& wide) {
  // An index may be beyond the end.
  if (!eval::Evaluate(graph, wide, graph.outputs, /*threads=*/1).ok()) return false;
  const auto blurs = BlursInfinities(graph, wide);
  const auto overflows = Overflows(graph, wide);
  const auto underflows = Underflows(graph, wide);
  return blurs.ok() && !*blurs && overflows.ok() && !*overflows && underflows.ok() && !*underflows;
}

}  // namespace quotient::prove
