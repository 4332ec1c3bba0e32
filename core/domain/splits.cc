#include "core/domain/splits.h"

#include <algorithm>
#include <map>
#include <set>
#include <tuple>
#include <utility>

namespace quotient::domain {
namespace {

// The Slices of one tensor along one axis.
struct Slices {
  int64_t dim;
  std::vector<Split::Part> parts;
  std::set<std::pair<int64_t, int64_t>> ranges;  // Begin and end of each part.
};

// By the tensor's class and the axis. Each range occurs once.
using SlicesByAxis = std::map<std::pair<ClassId, int64_t>, Slices>;

SlicesByAxis GroupByAxis(const TensorEGraph& tensors, std::span<const ENodeId> enodes) {
  const EGraph& graph = *tensors.egraph;
  SlicesByAxis groups;
  for (const ENodeId enode : enodes) {
    const egraph::ENodeView view = graph.node(enode);
    const OpWord& word = tensors.domain->word(view.op);
    if (word.sort != OpWord::Sort::kOperator || word.name != "Slice") continue;
    if (view.children.size() != 1) continue;
    const ClassId input = graph.Find(view.children[0]);
    const model::TensorType& type = tensors.domain->data(graph, input).type;
    const auto range = ReadSlice(word.attributes, type);
    if (!range.has_value() || range->size() == 0) continue;
    Slices& slices = groups[{input, range->axis}];
    slices.dim = type.dim(static_cast<int>(range->axis)).number();
    if (slices.ranges.emplace(range->begin, range->end).second) {
      slices.parts.push_back({*range, enode});
    }
  }
  return groups;
}

// Removes parts from `from`, in order, that do not overlap with those taken before.
Split TakeDisjoint(Slices& from) {
  std::map<int64_t, Split::Part> taken;  // By begin.
  std::vector<Split::Part> left;
  for (const Split::Part& part : from.parts) {
    // The parts taken are disjoint, so only the last one that begins before this one's end can
    // overlap.
    const auto next = taken.lower_bound(part.range.end);
    const bool overlaps =
        next != taken.begin() && std::prev(next)->second.range.end > part.range.begin;
    if (overlaps) {
      left.push_back(part);
    } else {
      taken.emplace(part.range.begin, part);
    }
  }
  from.parts = std::move(left);
  Split split = {.dim = from.dim};
  for (const auto& [begin, part] : taken) split.parts.push_back(part);
  return split;
}

// The Split of the original graph that the e-node was an output of; invalid if there is none.
model::NodeId OriginalSplit(const TensorEGraph& tensors, ENodeId slice) {
  const model::NodeId node = tensors.Original(slice).node;
  return node.valid() && tensors.original.node(node).op == "Split" ? node : model::NodeId();
}

}  // namespace

bool Split::tiles() const {
  int64_t covered = 0;
  for (const Part& part : parts) covered += part.range.size();
  return covered == dim;
}

std::vector<SplitOutput> OutputsOf(const Split& split) {
  std::vector<SplitOutput> outputs;
  int64_t position = 0;
  for (const Split::Part& part : split.parts) {
    if (part.range.begin > position) outputs.push_back({part.range.begin - position, nullptr});
    outputs.push_back({part.range.size(), &part});
    position = part.range.end;
  }
  if (split.dim > position) outputs.push_back({split.dim - position, nullptr});
  return outputs;
}

model::AttributeMap AttributesOf(const Split& split) {
  model::AttributeMap attributes;
  model::Ints sizes;
  for (const SplitOutput& output : OutputsOf(split)) sizes.push_back(output.size);
  if (split.axis() != 0) attributes.Set("axis", split.axis());
  attributes.Set("split", std::move(sizes));
  return attributes;
}

bool IsOfOriginal(const TensorEGraph& tensors, const Split& split) {
  const model::NodeId first = OriginalSplit(tensors, split.parts.front().slice);
  return first.valid() && std::ranges::all_of(split.parts, [&](const Split::Part& part) {
           return OriginalSplit(tensors, part.slice) == first;
         });
}

std::vector<Split> FindSplits(const TensorEGraph& tensors, std::span<const ENodeId> enodes) {
  std::vector<Split> splits;
  const auto keep = [&splits](Split split) {
    if (split.parts.size() > 1) splits.push_back(std::move(split));
  };
  for (auto& [key, slices] : GroupByAxis(tensors, enodes)) {
    std::map<model::NodeId, Slices> originals;
    std::erase_if(slices.parts, [&, &dim = slices.dim](const Split::Part& part) {
      const model::NodeId node = OriginalSplit(tensors, part.slice);
      if (!node.valid()) return false;
      originals.try_emplace(node, Slices{.dim = dim}).first->second.parts.push_back(part);
      return true;
    });
    for (auto& [node, parts] : originals) keep(TakeDisjoint(parts));
    std::ranges::sort(slices.parts, {}, [](const Split::Part& part) {
      return std::tuple(part.range.size(), part.range.begin, part.slice);
    });
    for (int i = 0; i < kMostSplits && !slices.parts.empty(); ++i) keep(TakeDisjoint(slices));
  }
  return splits;
}

}  // namespace quotient::domain
