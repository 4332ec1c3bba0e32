#pragma once

// ClassLists: the e-nodes in and above large classes, by kind. Whoever looks for one kind again and
// again need not go along chains in which most e-nodes are of another. Lists are made when first
// asked for and kept: since chains grow at their ends only, what is new is found there. One thread.

#include <array>
#include <cstdint>
#include <span>
#include <utility>
#include <vector>

#include "absl/container/node_hash_map.h"
#include "core/egraph/egraph.h"
#include "core/egraph/ids.h"

namespace quotient::egraph {

class ClassLists {
 public:
  // For classes of more weight than `large`: smaller ones are walked through sooner than looked up
  // here.
  static constexpr uint32_t kLarge = 64;
  explicit ClassLists(uint32_t large) : large_(large) {}
  bool IsLarge(const ClassRow& row) const { return row.weight() > large_; }

  // E-nodes of a kind in a class, some of them perhaps no longer live, and those of a kind whose
  // child `position` the class is; in order of id. The class must be canonical, the graph clean.
  // Spans are valid until the graph changes.
  std::span<const ENodeId> Members(const EGraph& graph, ClassId id, KindId kind);
  std::span<const ENodeId> Uses(const EGraph& graph, ClassId id, KindId kind, uint32_t position);
  // The children at a position (0 or 1) of those Members; invalid where there is none, or where
  // the e-node is not live.
  std::span<const ClassId> ChildrenOfMembers(const EGraph& graph, ClassId id, KindId kind,
                                             uint32_t position);

  // The graph may have changed.
  void NextSearch() { ++search_; }

  // Together with the e-graph's marks.
  void Mark() { marks_.push_back(touched_.size()); }
  void Rollback();
  void Forget();

 private:
  struct Group {
    uint64_t key;  // the kind; above it the position
    std::vector<ENodeId> nodes;
    std::array<std::vector<ClassId>, 2> children;
    std::array<uint32_t, 2> children_of = {0, 0};  // search they are of
  };
  // What is listed of a chain: from `first` to `last`, which were no duplicates then.
  template <typename Link>
  struct Lists {
    Link first;
    Link last;
    uint32_t search = 0;  // that looked for more
    std::vector<Group> groups;
  };
  template <typename Link>
  using Table = absl::node_hash_map<ClassId, Lists<Link>>;

  template <typename Links>
  Lists<typename Links::Link>& UpToDate(const Links& links, ClassId id,
                                        Table<typename Links::Link>& table);
  Group* FindMembers(const EGraph& graph, ClassId id, KindId kind);
  static Group* Find(std::vector<Group>& groups, uint64_t key);
  // Takes what is in added_.
  void Append(std::vector<Group>& groups);

  const uint32_t large_;
  Table<ENodeId> members_;
  Table<UseId> uses_;
  uint32_t search_ = 1;
  std::vector<ClassId> touched_;  // lists that changed while there were marks
  std::vector<size_t> marks_;     // sizes of touched_
  std::vector<std::pair<uint64_t, ENodeId>> added_;
};

}  // namespace quotient::egraph
