#include "core/verify/bindings.h"

#include <algorithm>
#include <limits>
#include <optional>
#include <set>
#include <tuple>
#include <utility>

#include "absl/container/flat_hash_map.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "core/base/status_macros.h"
#include "core/eval/fold.h"
#include "core/ops/infer_graph.h"
#include "core/ops/op.h"

namespace quotient::verify {
namespace {

using model::Dim;
using model::Graph;
using model::TensorType;
using model::ValueId;

// Folded constants may be large, because the folded graph is evaluated and never written. The limit
// only keeps a hostile Tile or Expand from taking all memory.
constexpr int64_t kMostFoldedBytes = int64_t{1} << 28;

// A product reads its weights once and converts them, however few rows they are multiplied with.
// One element takes as long as so many multiply-adds: 1.3 ns and 0.055 ns in a MatMul of 768 by 768
// weights (-O2).
constexpr double kOperationsPerWeight = 24;

double OperationsOfReadingWeights(const Graph& graph, const model::Node& node) {
  if (ops::FindOp(node.op)->contraction.products == nullptr) return 0;
  double weights = 0;
  for (const ValueId id : node.inputs) {
    if (!id.valid() || !graph.is_constant(id)) continue;
    weights += static_cast<double>(graph.value(id).type.elements());
  }
  return kOperationsPerWeight * weights;
}

// The symbols that all inputs bind to one number, with that number.
std::map<std::string, int64_t> BoundSymbols(const Graph& graph, const Shapes& shapes) {
  std::map<std::string, int64_t> bound;
  std::set<std::string> ambiguous;
  for (const FreeDim& dim : FreeDims(graph, shapes)) {
    if (dim.symbol.empty()) continue;
    const auto [known, fresh] = bound.emplace(dim.symbol, dim.measured);
    if (!fresh && known->second != dim.measured) ambiguous.insert(dim.symbol);
  }
  for (const std::string& symbol : ambiguous) bound.erase(symbol);
  return bound;
}

void Substitute(const std::map<std::string, int64_t>& symbols, TensorType& type) {
  if (!type.has_rank()) return;
  for (Dim& dim : *type.shape) {
    const auto bound = symbols.find(dim.symbol());
    if (bound != symbols.end()) dim = bound->second;
  }
}

}  // namespace

std::vector<FreeDim> FreeDims(const Graph& graph, const Shapes& measured) {
  std::vector<FreeDim> free;
  for (ValueId id : graph.inputs) {
    const model::Value& input = graph.value(id);
    const auto dims = measured.find(input.name);
    if (dims == measured.end() || !input.type.has_rank()) continue;
    if (dims->second.size() != input.type.shape->size()) continue;
    for (size_t axis = 0; axis < dims->second.size(); ++axis) {
      const Dim& dim = (*input.type.shape)[axis];
      if (dim.is_number()) continue;
      free.push_back({input.name, axis, dim.symbol(), dims->second.size(), dims->second[axis]});
    }
  }
  return free;
}

Shapes WithInputsOfKnownNames(const Graph& graph, const Shapes& measured) {
  const std::map<std::string, int64_t> known = BoundSymbols(graph, measured);
  Shapes shapes = measured;
  for (ValueId id : graph.inputs) {
    const model::Value& input = graph.value(id);
    if (!input.type.has_rank() || shapes.contains(input.name)) continue;
    TensorType type = input.type;
    Substitute(known, type);
    if (type.is_static()) shapes[input.name] = type.dims();
  }
  return shapes;
}

absl::StatusOr<Graph> InferAt(const Graph& graph, const Shapes& shapes) {
  const std::map<std::string, int64_t> symbols = BoundSymbols(graph, shapes);
  Graph bound = graph;
  for (model::Value& value : bound.values) {
    if (value.constant.has_value() || !value.producer.valid()) continue;
    Substitute(symbols, value.declared);
    if (bound.node(value.producer).is_opaque()) {
      Substitute(symbols, value.type);
    } else {
      value.type = TensorType();
    }
  }
  for (ValueId id : bound.inputs) {
    model::Value& input = bound.value(id);
    const auto dims = shapes.find(input.name);
    if (dims == shapes.end()) continue;
    input.type = model::StaticType(input.type.dtype, dims->second);
  }
  return ops::BindShapes(bound, {});
}

absl::StatusOr<CutGraph> FoldAndCut(Graph graph, int threads, const StopCondition& stop) {
  const eval::FoldLimits limits{
      .max_result_bytes = kMostFoldedBytes, .threads = threads, .fold_what_stays = true};
  QUOTIENT_RETURN_IF_ERROR(eval::FoldConstants(graph, limits, stop));
  return Cut(graph);
}

absl::StatusOr<CutGraph> CutAt(const Graph& graph, const Shapes& shapes, int threads,
                               const StopCondition& stop) {
  QUOTIENT_ASSIGN_OR_RETURN(Graph bound, InferAt(graph, shapes));
  return FoldAndCut(std::move(bound), threads, stop);
}

double OperationsOf(const CutGraph& cut) {
  const auto types_of = [&cut](const std::vector<ValueId>& ids) {
    std::vector<const TensorType*> types;
    for (ValueId id : ids) types.push_back(id.valid() ? &cut.graph.value(id).type : nullptr);
    return types;
  };
  double operations = 0;
  for (const model::Node& node : cut.graph.nodes) {
    operations += static_cast<double>(
        eval::Operations(node.op, node.attributes, types_of(node.inputs), types_of(node.outputs)));
    operations += OperationsOfReadingWeights(cut.graph, node);
  }
  return operations;
}

double BytesOf(const CutGraph& cut) {
  double bytes = 0;
  for (const model::Value& value : cut.graph.values) {
    if (value.constant.has_value() || !value.type.is_static()) continue;
    const auto size = model::Tensor::ByteSize(value.type.dtype, value.type.dims());
    bytes +=
        size.has_value() ? static_cast<double>(*size) : std::numeric_limits<double>::infinity();
  }
  return bytes;
}

std::string ToString(const Shapes& shapes) {
  return absl::StrJoin(shapes, ", ", [](std::string* out, const auto& shape) {
    absl::StrAppend(out, shape.first, "=[", absl::StrJoin(shape.second, ","), "]");
  });
}

}  // namespace quotient::verify
