#include "core/journal/same_enodes.h"

#include "absl/strings/str_cat.h"
#include "core/base/reason.h"
#include "core/base/status_macros.h"

namespace quotient::journal {

using domain::OpWord;
using egraph::ClassId;
using egraph::ENodeId;
using egraph::OpId;

void ENodeTable::Add(OpId op, std::span<const ENodeId> of) {
  ops.push_back(op);
  children.insert(children.end(), of.begin(), of.end());
  ends.push_back(children.size());
}

// While proofs are recorded, a class has the number of the e-node that it was made with.
ENodeTable AsAdded(const egraph::EGraph& graph) {
  ENodeTable table;
  std::vector<ENodeId> children;
  graph.proofs()->ForEachBirth(graph.store().rows().span(),
                               [&](OpId op, std::span<const ClassId> classes) {
                                 children.clear();
                                 for (const ClassId id : classes) children.emplace_back(id.value());
                                 table.Add(op, children);
                               });
  return table;
}

absl::StatusOr<OpId> SameENodes::Word(OpId id) const {
  const OpWord& word = from_domain_.word(id);
  if (word.sort == OpWord::Sort::kOperator) {
    return to_.domain->Operator(word.name, word.attributes);
  }
  if (word.sort == OpWord::Sort::kConstant) return to_.domain->Constant(*word.constant);
  if (word.sort == OpWord::Sort::kAbsent) return to_.domain->Absent();
  return MakeError(Reason::kInternal, absl::StrCat("a rule made ", word.name));
}

absl::StatusOr<ENodeId> SameENodes::LookUp(ENodeId enode) const {
  QUOTIENT_ASSIGN_OR_RETURN(const OpId word, Word(from_.ops[enode.value()]));
  std::vector<ClassId> children;
  for (const ENodeId child : from_.ChildrenOf(enode)) {
    const ENodeId same = child.value() < originals_ ? child : known_.at(child);
    children.push_back(to_.egraph->class_of(same));
  }
  const ENodeId found = to_.egraph->LookupNode(word, children);
  if (found.valid()) return found;
  return absl::NotFoundError(absl::StrCat("no e-node is the same as number ", enode.value()));
}

// Uses an explicit stack because terms may be deeper than the call stack allows.
absl::StatusOr<ENodeId> SameENodes::Find(ENodeId enode) {
  if (enode.value() < originals_) return enode;
  std::vector<ENodeId> open = {enode};
  while (!open.empty()) {
    const ENodeId next = open.back();
    const size_t before = open.size();
    if (!known_.contains(next)) {
      for (const ENodeId child : from_.ChildrenOf(next)) {
        if (child.value() >= originals_ && !known_.contains(child)) open.push_back(child);
      }
      if (open.size() > before) continue;
      QUOTIENT_ASSIGN_OR_RETURN(known_[next], LookUp(next));
    }
    open.pop_back();
  }
  return known_.at(enode);
}

absl::StatusOr<ENodeId> SameENodes::FindLive(ENodeId enode) {
  QUOTIENT_ASSIGN_OR_RETURN(const ENodeId found, Find(enode));
  if (to_.egraph->live(found)) return found;
  const egraph::ENodeView node = to_.egraph->node(found);
  const ENodeId live = to_.egraph->LookupNode(node.op, node.children);
  if (live.valid()) return live;
  return absl::NotFoundError(absl::StrCat("e-node ", found.value(), " is not live"));
}

absl::StatusOr<egraph::Match> SameENodes::FindMatch(const egraph::Rule& rule,
                                                    const egraph::Match& match) {
  egraph::Match same = match;
  for (ClassId& cls : same.classes) {
    QUOTIENT_ASSIGN_OR_RETURN(const ENodeId enode, Find(ENodeId(cls.value())));
    cls = ClassId(enode.value());
  }
  const size_t num_words = rule.NumWords(match);
  for (size_t i = 0; i < num_words; ++i) {
    QUOTIENT_ASSIGN_OR_RETURN(same.ops[i], Word(match.ops[i]));
  }
  return same;
}

}  // namespace quotient::journal
