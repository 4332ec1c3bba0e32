#include "core/model/occurring_sizes.h"

#include <algorithm>
#include <cmath>
#include <set>
#include <utility>

namespace quotient::model {
namespace {

// A constant with more elements is no shape.
constexpr int64_t kMostElements = 16;
// Larger numbers are no sizes of inputs: 2^63 - 1 is the open end of a Slice.
constexpr int64_t kMostSize = 65536;

void CollectFrom(const Tensor& constant, std::set<int64_t>& numbers) {
  numbers.insert(constant.dims().begin(), constant.dims().end());
  if (!IsInteger(constant.dtype()) || constant.elements() > kMostElements) return;
  const std::vector<int64_t> elements = constant.AsInts();
  numbers.insert(elements.begin(), elements.end());
}

}  // namespace

std::vector<int64_t> OccurringSizes(const Graph& graph, int64_t near, size_t most) {
  std::set<int64_t> numbers;
  for (const Value& value : graph.values) {
    if (value.constant.has_value()) CollectFrom(*value.constant, numbers);
  }
  for (const Node& node : graph.nodes) {
    // Canonical forms have a constant target as an attribute.
    const Ints target = node.attributes.GetInts("shape");
    numbers.insert(target.begin(), target.end());
  }
  std::vector<std::pair<double, int64_t>> by_distance;
  for (auto number = numbers.upper_bound(1); number != numbers.upper_bound(kMostSize); ++number) {
    const double ratio = static_cast<double>(*number) / static_cast<double>(near);
    by_distance.emplace_back(std::abs(std::log(ratio)), *number);
  }
  std::ranges::sort(by_distance);
  if (by_distance.size() > most) by_distance.resize(most);
  std::vector<int64_t> nearest;
  for (const auto& [distance, number] : by_distance) nearest.push_back(number);
  return nearest;
}

}  // namespace quotient::model
