#include "core/verify/bindings.h"

#include <algorithm>
#include <optional>
#include <set>
#include <utility>

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

// `key` says what belongs together.
template <typename Key>
Groups GroupBy(const std::vector<FreeDim>& free, Key key) {
  Groups groups(free.size());
  for (size_t i = 0; i < free.size(); ++i) {
    groups[i] = i;
    for (size_t j = 0; j < i; ++j) {
      if (key(free[j], free[i])) {
        groups[i] = groups[j];
        break;
      }
    }
  }
  return groups;
}

bool HaveOneName(const FreeDim& a, const FreeDim& b) {
  return !a.symbol.empty() && a.symbol == b.symbol;
}

// Also dimensions without a name that had the same number when the model was measured.
bool MayBelongTogether(const FreeDim& a, const FreeDim& b) {
  return HaveOneName(a, b) || (a.symbol.empty() && b.symbol.empty() && a.measured == b.measured &&
                               (a.axis == 0) == (b.axis == 0));
}

// Also dimensions of different names: exporters give each axis of each input a name of its own, and
// only the operators say which of them have to be equal.
bool HadOneSize(const FreeDim& a, const FreeDim& b) {
  return a.measured == b.measured && (a.axis == 0) == (b.axis == 0);
}

class Proposer {
 public:
  Proposer(const Graph& graph, const Shapes& measured, int round)
      : graph_(graph), measured_(measured), round_(round), free_(FreeDims(graph, measured)) {
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
    const Groups by_name = GroupBy(free_, HaveOneName);
    if (Infers(by_name, sizes)) {
      Propose(SplitWherePossible(by_name, sizes), sizes);
      return;
    }
    if (Propose(GroupBy(free_, MayBelongTogether), sizes)) return;
    const Groups by_size = GroupBy(free_, HadOneSize);
    if (Infers(by_size, sizes)) Propose(SplitWherePossible(by_size, sizes), sizes);
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
    for (size_t i = 0; i < groups.size() && tries < kMostSplits; ++i) {
      if (std::ranges::count(groups, groups[i]) < 2) continue;
      ++tries;
      // The first of a group lends it its name, so the others are split off.
      if (groups[i] == i) continue;
      Groups split = groups;
      split[i] = i;
      if (Infers(split, sizes)) groups = std::move(split);
    }
    return groups;
  }

  bool Infers(const Groups& groups, const Sizes* sizes) const {
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

  // A group with a first dimension is a batch, unless its tensor has no other dimension.
  Kind KindOf(const Groups& groups, size_t group) const {
    Kind kind = Kind::kSide;
    for (size_t i = 0; i < free_.size(); ++i) {
      if (groups[i] != group) continue;
      if (free_[i].axis == 0 && free_[i].rank > 1) return Kind::kBatch;
      if (free_[i].rank < 4) kind = Kind::kLength;
    }
    return kind;
  }

  Shapes ShapesOf(const Groups& groups, const Sizes* sizes) const {
    Shapes shapes = measured_;
    std::map<size_t, int64_t> numbers;  // by group
    int64_t used[3] = {0, 0, 0};        // groups so far, by kind
    for (size_t i = 0; i < free_.size(); ++i) {
      const Kind kind = KindOf(groups, groups[i]);
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

std::vector<Shapes> ProposeBindings(const Graph& graph, const Shapes& measured, int round) {
  return Proposer(graph, measured, round).Run();
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
