#include "core/egraph/class_lists.h"

#include <algorithm>

namespace quotient::egraph {
namespace {

uint64_t KeyOf(KindId kind, uint32_t position = 0) {
  return uint64_t{position} << 32 | kind.value();
}

struct MemberLinks {
  using Link = ENodeId;
  const EGraph& graph;

  Link First(const ClassRow& row) const { return row.first_member; }
  Link Next(Link link) const { return graph.store().row(link).next_member; }
  ENodeId Node(Link link) const { return link; }
  uint64_t Key(Link link) const { return KeyOf(graph.kind(link)); }
};

struct UseLinks {
  using Link = UseId;
  const EGraph& graph;

  Link First(const ClassRow& row) const { return row.first_use; }
  Link Next(Link link) const { return graph.store().NextUse(link); }
  ENodeId Node(Link link) const { return graph.store().NodeOf(link); }
  uint64_t Key(Link link) const {
    return KeyOf(graph.kind(graph.store().NodeOf(link)), graph.store().PositionOf(link));
  }
};

}  // namespace

template <typename Links>
ClassLists::Lists<typename Links::Link>& ClassLists::UpToDate(const Links& links, ClassId id,
                                                              Table<typename Links::Link>& table) {
  using Link = typename Links::Link;
  Lists<Link>& lists = table[id];
  if (std::exchange(lists.search, search_) == search_) return lists;
  const auto duplicate = [&](Link link) {
    return links.graph.store().row(links.Node(link)).duplicate();
  };
  const auto gone = [&](Link end) { return !end.valid() || duplicate(end); };
  // An end that became a duplicate may have left the chain, so the lists are made anew.
  const bool anew = gone(lists.first) || gone(lists.last);
  const Link old_first = anew ? Link() : lists.first;
  const Link behind = anew ? Link() : links.Next(lists.last);
  if (anew) lists = {.search = search_};
  bool changed = anew;
  Link first, last;  // First and last link that take_until added.
  const auto take_until = [&](Link at, Link end) {
    first = last = Link();
    for (; at.valid() && at != end; at = links.Next(at)) {
      if (duplicate(at)) continue;
      if (!first.valid()) first = at;
      last = at;
      const ENodeId node = links.Node(at);
      if (links.graph.live(node)) added_.emplace_back(links.Key(at), node);
    }
    changed |= first.valid();
  };
  take_until(links.First(links.graph.store().class_row(id)), old_first);
  if (first.valid()) lists.first = first;
  if (anew) lists.last = last;
  take_until(behind, Link());
  if (last.valid()) lists.last = last;
  if (changed && !marks_.empty()) touched_.push_back(id);
  Append(lists.groups);
  return lists;
}

ClassLists::Group* ClassLists::FindMembers(const EGraph& graph, ClassId id, KindId kind) {
  return Find(UpToDate(MemberLinks{graph}, id, members_).groups, KeyOf(kind));
}

std::span<const ENodeId> ClassLists::Members(const EGraph& graph, ClassId id, KindId kind) {
  const Group* const group = FindMembers(graph, id, kind);
  return group == nullptr ? std::span<const ENodeId>() : group->nodes;
}

std::span<const ClassId> ClassLists::ChildrenOfMembers(const EGraph& graph, ClassId id, KindId kind,
                                                       uint32_t position) {
  Group* const group = FindMembers(graph, id, kind);
  if (group == nullptr) return {};
  std::vector<ClassId>& children = group->children[position];
  if (std::exchange(group->children_of[position], search_) != search_) {
    children.clear();
    for (const ENodeId node : group->nodes) {
      const Row& row = graph.store().row(node);
      children.push_back(row.listed() || !row.live() ? ClassId() : row.child[position]);
    }
  }
  return children;
}

std::span<const ENodeId> ClassLists::Uses(const EGraph& graph, ClassId id, KindId kind,
                                          uint32_t position) {
  const Group* const group =
      Find(UpToDate(UseLinks{graph}, id, uses_).groups, KeyOf(kind, position));
  return group == nullptr ? std::span<const ENodeId>() : group->nodes;
}

ClassLists::Group* ClassLists::Find(std::vector<Group>& groups, uint64_t key) {
  const auto found = std::ranges::find(groups, key, &Group::key);
  return found == groups.end() ? nullptr : &*found;
}

void ClassLists::Append(std::vector<Group>& groups) {
  std::ranges::sort(added_);
  for (auto at = added_.begin(); at != added_.end();) {
    const uint64_t key = at->first;
    Group* group = Find(groups, key);
    if (group == nullptr) group = &groups.emplace_back(Group{key, {}, {}, {}});
    std::vector<ENodeId>& nodes = group->nodes;
    const auto middle = static_cast<std::ptrdiff_t>(nodes.size());
    for (; at != added_.end() && at->first == key; ++at) nodes.push_back(at->second);
    std::inplace_merge(nodes.begin(), nodes.begin() + middle, nodes.end());
  }
  added_.clear();
}

// Drops the lists that changed since the mark; the others are right for the restored graph.
void ClassLists::Rollback() {
  for (; touched_.size() > marks_.back(); touched_.pop_back()) {
    members_.erase(touched_.back());
    uses_.erase(touched_.back());
  }
  marks_.pop_back();
  NextSearch();
}

void ClassLists::Forget() {
  marks_.pop_back();
  if (marks_.empty()) touched_.clear();
}

}  // namespace quotient::egraph
