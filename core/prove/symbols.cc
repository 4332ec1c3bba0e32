#include "core/prove/symbols.h"

#include <algorithm>
#include <set>
#include <utility>

#include "core/ops/infer_graph.h"
#include "core/prove/opening.h"

namespace quotient::prove {
namespace {

using model::Dim;
using model::Graph;
using model::ValueId;

// Nullopt if type inference refuses these sizes, or does not know all types for them.
std::optional<Graph> BoundTo(const Sizes& sizes, const Graph& graph) {
  ops::InputShapes shapes;
  for (const ValueId input : graph.inputs) {
    std::vector<int64_t>& dims = shapes[graph.value(input).name];
    for (const Dim& dim : *graph.value(input).type.shape) {
      dims.push_back(dim.is_number() ? dim.number() : sizes.at(dim.symbol()));
    }
  }
  absl::StatusOr<Graph> bound = ops::BindShapes(graph, shapes);
  if (!bound.ok() || !IsStatic(*bound)) return std::nullopt;
  return *std::move(bound);
}

void Shuffle(std::vector<Sizes>& sizes, Rng& rng) {
  for (size_t i = sizes.size(); i > 1; --i) std::swap(sizes[i - 1], sizes[rng.Below(i)]);
}

// A size next to the given one, of one symbol: what strides and slices hide.
std::vector<Sizes> NearSizes(const Sizes& given, Rng& rng) {
  std::vector<Sizes> all;
  for (const auto& [symbol, size] : given) {
    for (const int64_t other : {size - 1, size + 1}) {
      all.push_back(given);
      all.back()[symbol] = other;
    }
  }
  Shuffle(all, rng);
  return all;
}

std::vector<Sizes> OtherSizes(const Sizes& given, Rng& rng) {
  std::vector<Sizes> all;
  for (const auto& [symbol, size] : given) {
    for (const int64_t other : {int64_t{0}, int64_t{1}, int64_t{2}, 2 * size, int64_t{5}}) {
      all.push_back(given);
      all.back()[symbol] = other;
    }
  }
  for (const int64_t same : {0, 1, 2, 3}) {
    Sizes sizes = given;
    for (auto& [symbol, size] : sizes) size = same;
    all.push_back(std::move(sizes));
  }
  constexpr int kRandom = 4;
  for (int i = 0; i < kRandom; ++i) {
    Sizes sizes = given;
    for (auto& [symbol, size] : sizes) {
      if (rng.Below(2) == 0) size = static_cast<int64_t>(rng.Below(8));
    }
    all.push_back(std::move(sizes));
  }
  Shuffle(all, rng);
  return all;
}

// Binds the symbols to these sizes, and to others.
std::optional<SymbolicGraph> Bound(Graph graph, const Sizes& given, Rng& rng) {
  SymbolicGraph symbolic{std::move(graph), {}};
  std::optional<Graph> as_given = BoundTo(given, symbolic.graph);
  if (!as_given) return std::nullopt;
  symbolic.bound.push_back(*std::move(as_given));
  std::set<Sizes> tried = {given};
  const auto bind = [&](const std::vector<Sizes>& all, size_t most) {
    for (const Sizes& sizes : all) {
      if (symbolic.bound.size() >= most) break;
      if (!tried.insert(sizes).second) continue;
      if (auto bound = BoundTo(sizes, symbolic.graph)) symbolic.bound.push_back(*std::move(bound));
    }
  };
  bind(NearSizes(given, rng), 4);
  bind(OtherSizes(given, rng), 7);
  if (symbolic.bound.size() < 2) return std::nullopt;
  return symbolic;
}

}  // namespace

bool IsStatic(const Graph& graph) {
  return std::ranges::all_of(graph.values,
                             [](const model::Value& value) { return value.type.is_static(); });
}

std::optional<SymbolicGraph> WithSymbols(const Graph& graph, Rng& rng) {
  OpenedGraph opened = OpenSizes(graph, rng);
  if (opened.given.empty() || !ops::InferTypes(opened.graph).ok()) return std::nullopt;
  return Bound(std::move(opened.graph), opened.given, rng);
}

std::optional<SymbolicGraph> InSeveralSizes(const Graph& graph, Rng& rng) {
  const auto draw_size = [&] { return static_cast<int64_t>(2 + rng.Below(4)); };
  const int64_t first = draw_size();
  const bool all_equal = rng.Below(2) == 0;
  Sizes given;
  for (const ValueId input : graph.inputs) {
    for (const Dim& dim : *graph.value(input).type.shape) {
      if (dim.is_symbol()) given.emplace(dim.symbol(), all_equal ? first : draw_size());
    }
  }
  return Bound(graph, given, rng);
}

}  // namespace quotient::prove
