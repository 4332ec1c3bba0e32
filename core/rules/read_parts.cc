#include "core/rules/read_parts.h"

#include <vector>

#include "absl/container/flat_hash_set.h"

namespace quotient::rules {
namespace {

// The most classes that are followed. From the end of a transformer's last layer to its keys there
// are some fifty.
constexpr size_t kMostFollowed = 256;

// The elements of the value when it is measured, or -1 where that is unknown.
double Elements(const View& view, ClassId cls) {
  const TensorType& type = view.data(cls).measured;
  return type.is_static() ? static_cast<double>(type.elements()) : -1;
}

// What reads a class: the results of Slices and Gathers of it, and those of everything else.
struct Readers {
  absl::flat_hash_set<ClassId> picked;
  absl::flat_hash_set<ClassId> others;
  bool has_opaque = false;  // Nobody knows what an opaque node reads.
};

Readers ReadersOf(const View& view, ClassId cls) {
  const EGraph& graph = view.graph();
  Readers readers;
  graph.store().ForEachUse(cls, [&](ENodeId enode, uint32_t) {
    if (!graph.live(enode)) return;
    const ClassId result = graph.class_of(enode);
    readers.has_opaque |= view.word(enode).sort != OpWord::Sort::kOperator;
    (IsPickOf(view, enode, cls) ? readers.picked : readers.others).insert(result);
  });
  return readers;
}

}  // namespace

bool IsPickOf(const View& view, ENodeId enode, ClassId cls) {
  const OpWord& word = view.word(enode);
  if (word.sort != OpWord::Sort::kOperator || (word.name != "Slice" && word.name != "Gather")) {
    return false;
  }
  return view.graph().Find(view.graph().node(enode).children[0]) == cls;
}

bool IsReadInParts(const View& view, ClassId id) {
  const EGraph& graph = view.graph();
  absl::flat_hash_set<ClassId> seen = {graph.Find(id)};
  std::vector<ClassId> open = {graph.Find(id)};
  while (!open.empty()) {
    const ClassId cls = open.back();
    open.pop_back();
    const Readers readers = ReadersOf(view, cls);
    if (view.data(cls).is_output || readers.has_opaque) return false;
    double taken = 0;
    for (const ClassId part : readers.picked) {
      const double elements = Elements(view, part);
      if (elements < 0) return false;
      taken += elements;
    }
    if (2 * taken > Elements(view, cls)) return false;
    for (const ClassId result : readers.others) {
      if (seen.insert(result).second) open.push_back(result);
    }
    if (seen.size() > kMostFollowed) return false;
  }
  return true;
}

}  // namespace quotient::rules
