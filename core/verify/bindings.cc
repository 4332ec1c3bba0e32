#include "core/verify/bindings.h"

#include <algorithm>
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

namespace quotient::verify {
namespace {

using model::Dim;
using model::Graph;
using model::TensorType;
using model::ValueId;

// What is evaluated may hold anything that is constant: it is never written. The limit only keeps a
// hostile Tile or Expand from taking all memory.
constexpr int64_t kMostFoldedBytes = int64_t{1} << 28;

// Numbers for the dimensions of one binding: first dimensions, lengths, sides of pictures (of
// tensors with four and more dimensions). The k-th group of dimensions of a kind is at base + k *
// step. Small and odd first; models that halve pictures or cut sequences into blocks need
// multiples.
struct Sizes {
  int64_t length, length_step;
  int64_t side, side_step;
};
constexpr Sizes kSizes[][2] = {
    {{5, 2, 35, 2}, {6, 3, 34, 4}},
    {{8, 8, 32, 32}, {24, 8, 64, 32}},
    {{16, 16, 64, 32}, {48, 16, 96, 32}},
    {{32, 32, 128, 32}, {96, 32, 160, 32}},
    {{64, 64, 224, 224}, {192, 64, 448, 224}},
};
constexpr int64_t kFirstBatch = 2;
// Proposals of one round; each costs inference at several sizes at most.
constexpr size_t kMostProposals = 3;
// Dimensions that are split off from others of their name, one by one.
constexpr size_t kMostSplits = 8;

// A dimension of an input that is no number.
struct FreeDim {
  std::string input;
  size_t axis;
  std::string symbol;  // empty: unknown
  size_t rank;
  int64_t measured;
};

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

// Which dimensions have the same number: parallel to the free dimensions.
using Groups = std::vector<size_t>;

Groups EachItsOwn(const std::vector<FreeDim>& free) {
  Groups groups(free.size());
  for (size_t i = 0; i < free.size(); ++i) groups[i] = i;
  return groups;
}

// A symbol; of dimensions without one (then empty) the measured number and whether they are first.
using GroupKey = std::tuple<std::string, int64_t, bool>;

// Dimensions of one key are a group, named by the first. One without a key is a group of its own.
template <typename KeyOf>
Groups GroupBy(const std::vector<FreeDim>& free, KeyOf key_of) {
  Groups groups(free.size());
  absl::flat_hash_map<GroupKey, size_t> first;
  for (size_t i = 0; i < free.size(); ++i) {
    const std::optional<GroupKey> key = key_of(free[i]);
    groups[i] = key.has_value() ? first.emplace(*key, i).first->second : i;
  }
  return groups;
}

std::optional<GroupKey> ByName(const FreeDim& dim) {
  if (dim.symbol.empty()) return std::nullopt;
  return GroupKey(dim.symbol, 0, false);
}

// Dimensions without a name that had the same number when the model was measured may also belong
// together.
std::optional<GroupKey> ByNameOrNumber(const FreeDim& dim) {
  if (!dim.symbol.empty()) return ByName(dim);
  return GroupKey("", dim.measured, dim.axis == 0);
}

// Exporters give each axis of each input a name of its own, and only the operators say which of
// them have to be equal: those may be that had the same number when the model was measured.
std::optional<GroupKey> ByNumber(const FreeDim& dim) {
  return GroupKey("", dim.measured, dim.axis == 0);
}

class Proposer {
 public:
  Proposer(const Graph& graph, const Shapes& measured, int round, const StopCondition& stop)
      : graph_(graph),
        measured_(measured),
        round_(round),
        stop_(stop),
        free_(FreeDims(graph, measured)) {
    const absl::StatusOr<Graph> bound = InferAt(graph, measured);
    if (bound.ok()) most_cut_ = CountCut(*bound);
  }

  std::vector<Shapes> Run() {
    if (free_.empty()) return {};
    for (const auto& sizes : kSizes) {
      if (proposals_.size() == kMostProposals) return std::move(proposals_);
      ProposeAt(&sizes[round_ % 2]);
    }
    ProposeAt(nullptr);
    return std::move(proposals_);
  }

 private:
  enum class Kind { kBatch, kLength, kSide };

  // Null: the sizes of measuring, but for first dimensions.
  void ProposeAt(const Sizes* sizes) {
    if (Propose(EachItsOwn(free_), sizes)) return;
    const Groups by_name = GroupBy(free_, ByName);
    if (Infers(by_name, sizes)) {
      Propose(SplitWherePossible(by_name, sizes), sizes);
      return;
    }
    if (Propose(GroupBy(free_, ByNameOrNumber), sizes)) return;
    const Groups by_number = GroupBy(free_, ByNumber);
    if (Infers(by_number, sizes)) Propose(SplitWherePossible(by_number, sizes), sizes);
  }

  bool Propose(const Groups& groups, const Sizes* sizes) {
    if (!Infers(groups, sizes)) return false;
    Shapes shapes = ShapesOf(groups, sizes);
    if (shapes != measured_ && std::ranges::find(proposals_, shapes) == proposals_.end()) {
      proposals_.push_back(std::move(shapes));
    }
    return true;
  }

  // Takes dimensions out of their groups where the operators allow it.
  Groups SplitWherePossible(Groups groups, const Sizes* sizes) const {
    size_t tries = 0;
    std::vector<size_t> members(groups.size());  // by group
    for (const size_t group : groups) ++members[group];
    for (size_t i = 0; i < groups.size() && tries < kMostSplits; ++i) {
      if (members[groups[i]] < 2) continue;
      ++tries;
      // The first of a group lends it its name, so the others are split off.
      if (groups[i] == i) continue;
      Groups split = groups;
      split[i] = i;
      if (!Infers(split, sizes)) continue;
      --members[groups[i]];
      members[i] = 1;
      groups = std::move(split);
    }
    return groups;
  }

  // Nothing does once this is to stop.
  bool Infers(const Groups& groups, const Sizes* sizes) const {
    if (stop_.ShouldStop()) return false;
    const absl::StatusOr<Graph> bound = InferAt(graph_, ShapesOf(groups, sizes));
    return bound.ok() && CountCut(*bound) <= most_cut_ &&
           std::ranges::none_of(bound->outputs, [&](ValueId id) {
             const TensorType& type = bound->value(id).type;
             return type.is_static() && type.elements() == 0;
           });
  }

  // Nodes that Cut takes out. An operator without a row does not refuse dims that it does not take,
  // but ONNX's inference then has no type for what it makes.
  static int64_t CountCut(const Graph& graph) {
    return std::ranges::count_if(
        graph.nodes, [&](const model::Node& node) { return !model::IsComputable(graph, node); });
  }

  // By group. One with a first dimension is a batch, unless its tensor has no other dimension.
  std::vector<Kind> KindsOf(const Groups& groups) const {
    std::vector<Kind> kinds(groups.size(), Kind::kSide);
    for (size_t i = 0; i < free_.size(); ++i) {
      Kind& kind = kinds[groups[i]];
      if (free_[i].axis == 0 && free_[i].rank > 1) {
        kind = Kind::kBatch;
      } else if (free_[i].rank < 4 && kind == Kind::kSide) {
        kind = Kind::kLength;
      }
    }
    return kinds;
  }

  Shapes ShapesOf(const Groups& groups, const Sizes* sizes) const {
    Shapes shapes = measured_;
    const std::vector<Kind> kinds = KindsOf(groups);
    std::map<size_t, int64_t> numbers;  // by group
    int64_t used[3] = {0, 0, 0};        // groups so far, by kind
    for (size_t i = 0; i < free_.size(); ++i) {
      const Kind kind = kinds[groups[i]];
      int64_t number = free_[i].measured;
      if (const auto known = numbers.find(groups[i]); known != numbers.end()) {
        number = known->second;
      } else if (kind == Kind::kBatch) {
        number = kFirstBatch + round_ + used[0]++;
      } else if (sizes != nullptr && kind == Kind::kLength) {
        number = sizes->length + sizes->length_step * used[1]++;
      } else if (sizes != nullptr) {
        number = sizes->side + sizes->side_step * used[2]++;
      }
      numbers.emplace(groups[i], number);
      shapes[free_[i].input][free_[i].axis] = number;
    }
    return shapes;
  }

  const Graph& graph_;
  const Shapes& measured_;
  const int round_;
  const StopCondition& stop_;
  const std::vector<FreeDim> free_;
  int64_t most_cut_ = 0;  // nodes that are cut out at the dims of measuring
  std::vector<Shapes> proposals_;
};

// Symbols that all inputs bind to the same number.
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

absl::StatusOr<CutGraph> CutAt(const Graph& graph, const Shapes& shapes, int threads,
                               const StopCondition& stop) {
  QUOTIENT_ASSIGN_OR_RETURN(Graph bound, InferAt(graph, shapes));
  const eval::FoldLimits limits{.max_result_bytes = kMostFoldedBytes, .threads = threads};
  QUOTIENT_RETURN_IF_ERROR(eval::FoldConstants(bound, limits, stop));
  return Cut(bound);
}

std::vector<Shapes> ProposeBindings(const Graph& graph, const Shapes& measured, int round,
                                    const StopCondition& stop) {
  return Proposer(graph, measured, round, stop).Run();
}

bool HasFreeDims(const Graph& graph, const Shapes& measured) {
  return !FreeDims(graph, measured).empty();
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
  }
  return operations;
}

std::string ToString(const Shapes& shapes) {
  return absl::StrJoin(shapes, ", ", [](std::string* out, const auto& shape) {
    absl::StrAppend(out, shape.first, "=[", absl::StrJoin(shape.second, ","), "]");
  });
}

}  // namespace quotient::verify
