#include "core/rules/smooth.h"

#include <vector>

#include "absl/container/flat_hash_set.h"
#include "core/domain/steps.h"

namespace quotient::rules {
namespace {

// The most classes that are followed. Classes that rules make are close to those of the original
// graph, and guards are called often.
constexpr size_t kMostFollowed = 64;

// Calls visit(e-node) for the live e-nodes that read a canonical class, until visit returns false.
// Returns whether it never did. An e-node that reads the class twice is visited twice.
template <typename Visit>
bool AllReaders(const EGraph& graph, ClassId cls, const Visit& visit) {
  const egraph::NodeStore& store = graph.store();
  for (egraph::UseId use = store.class_row(cls).first_use; use.valid(); use = store.NextUse(use)) {
    const ENodeId enode = store.NodeOf(use);
    if (graph.live(enode) && !visit(enode)) return false;
  }
  return true;
}

// An opaque node may contain steps.
bool MayBeStep(const OpWord& word) {
  return word.sort != OpWord::Sort::kOperator || domain::IsStep(word.name, word.attributes);
}

}  // namespace

bool IsSmooth(const View& view, ClassId id) {
  const EGraph& graph = view.graph();
  absl::flat_hash_set<ClassId> seen = {graph.Find(id)};
  std::vector<ClassId> open = {graph.Find(id)};
  while (!open.empty()) {
    const ClassId cls = open.back();
    open.pop_back();
    if (const std::optional<bool> known = view.data(cls).read_by_step) {
      if (*known) return false;
      continue;
    }
    const bool no_step = AllReaders(graph, cls, [&](ENodeId reader) {
      const OpWord& word = view.word(reader);
      if (MayBeStep(word) || seen.size() > kMostFollowed) return false;
      const ClassId result = graph.class_of(reader);
      if (domain::PassesLastBits(word.name, view.type(result)) && seen.insert(result).second) {
        open.push_back(result);
      }
      return true;
    });
    if (!no_step) return false;
  }
  return true;
}

}  // namespace quotient::rules
