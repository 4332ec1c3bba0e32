#include "core/verify/thresholds.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>
#include <span>
#include <variant>

#include "core/verify/elements.h"

namespace quotient::verify {
namespace {

using model::Graph;
using model::Node;
using model::Tensor;

// Constants with more elements are weights, or tables.
constexpr int64_t kMostElements = 4;
constexpr size_t kMost = 64;

// Sorts, and takes some from the whole range where there are too many, not the least ones alone.
template <typename T>
std::vector<T> Some(std::vector<T> numbers) {
  std::ranges::sort(numbers);
  numbers.erase(std::unique(numbers.begin(), numbers.end()), numbers.end());
  if (numbers.size() <= kMost) return numbers;
  std::vector<T> some;
  for (size_t i = 0; i < kMost; ++i) {
    some.push_back(numbers[i * (numbers.size() - 1) / (kMost - 1)]);
  }
  return some;
}

std::vector<int64_t> WithNeighbors(const std::vector<int64_t>& numbers) {
  using Limits = std::numeric_limits<int64_t>;
  std::vector<int64_t> all;
  for (const int64_t number : numbers) {
    if (number > Limits::min()) all.push_back(number - 1);
    all.push_back(number);
    if (number < Limits::max()) all.push_back(number + 1);
  }
  std::ranges::sort(all);
  all.erase(std::unique(all.begin(), all.end()), all.end());
  return all;
}

// Constants from which a graph gathers along their first axis, each once, and not too many.
std::vector<const Tensor*> Tables(const Graph& graph) {
  std::vector<const Tensor*> tables;
  for (const Node& node : graph.nodes) {
    if (tables.size() == kMost) break;
    if (node.op != "Gather" || node.attributes.GetInt("axis", 0) != 0) continue;
    const std::optional<Tensor>& table = graph.value(node.inputs[0]).constant;
    if (!table.has_value() || table->rank() == 0 || table->elements() == 0) continue;
    if (std::ranges::find(tables, &*table) == tables.end()) tables.push_back(&*table);
  }
  return tables;
}

bool IsAmong(const Tensor& table, const std::vector<const Tensor*>& tables) {
  return std::ranges::any_of(
      tables, [&table](const Tensor* other) { return model::SameContent(table, *other); });
}

void AddDifferingRows(const Tensor& a, const Tensor& b, std::vector<int64_t>* rows) {
  const auto count = static_cast<size_t>(a.dims()[0]);
  const size_t bytes = a.bytes().size() / count;
  for (size_t row = 0; row < count; ++row) {
    const size_t begin = row * bytes;
    if (std::memcmp(a.bytes().data() + begin, b.bytes().data() + begin, bytes) == 0) continue;
    rows->push_back(static_cast<int64_t>(row));
  }
}

}  // namespace

Thresholds FindThresholds(const Graph& graph) {
  std::vector<double> floats;
  std::vector<int64_t> integers;
  for (const Node& node : graph.nodes) {
    for (const auto& [name, attribute] : node.attributes) {
      const double* const number = std::get_if<double>(&attribute);
      if (number != nullptr) floats.push_back(*number);
    }
  }
  for (const model::Value& value : graph.values) {
    if (!value.constant.has_value() || value.constant->elements() > kMostElements) continue;
    if (model::IsFloat(value.constant->dtype())) {
      for (const double element : value.constant->AsDoubles()) floats.push_back(element);
    } else if (model::IsInteger(value.constant->dtype())) {
      for (const int64_t element : value.constant->AsInts()) integers.push_back(element);
    }
  }
  std::erase_if(floats, [](double number) { return !(std::abs(number) <= kLargestThreshold); });
  for (const double number : floats) {
    if (number == std::trunc(number)) integers.push_back(static_cast<int64_t>(number));
  }
  return {.floats = Some(std::move(floats)), .integers = WithNeighbors(Some(std::move(integers)))};
}

std::vector<int64_t> DifferingRows(const Graph& graph, const Graph& other) {
  const std::vector<const Tensor*> tables = Tables(graph), of_other = Tables(other);
  std::vector<int64_t> rows;
  for (const Tensor* table : tables) {
    for (const Tensor* changed : of_other) {
      if (table->type() != changed->type()) continue;
      if (IsAmong(*table, of_other) || IsAmong(*changed, tables)) continue;
      AddDifferingRows(*table, *changed, &rows);
    }
  }
  return Some(std::move(rows));
}

}  // namespace quotient::verify
