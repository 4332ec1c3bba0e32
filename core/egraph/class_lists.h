#pragma once

// ClassLists keeps the members and uses of large classes grouped by kind, so that a search for one
// kind need not walk chains in which most e-nodes are of another. A list is made when it is first
// asked for and kept: chains grow only at their ends, so only these are walked later. One thread.

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
  // The weight above which a class has lists. Smaller ones are faster to walk than to look up.
  static constexpr uint32_t kLarge = 64;
  explicit ClassLists(uint32_t large) : large_(large) {}
  bool IsLarge(const ClassRow& row) const { return row.weight() > large_; }

  // Members: e-nodes of a kind in a class. Uses: e-nodes of a kind that have the class as child
  // `position`. Both are in order of id, and some may no longer be live. The class must be
  // canonical and the graph clean. Spans are valid until the graph changes.
  std::span<const ENodeId> Members(const EGraph& graph, ClassId id, KindId kind);
  std::span<const ENodeId> Uses(const EGraph& graph, ClassId id, KindId kind, uint32_t position);
  // The child at a position (0 or 1) of each of the Members. Invalid where there is none, where the
  // children are listed, or where the e-node is not live.
  std::span<const ClassId> ChildrenOfMembers(const EGraph& graph, ClassId id, KindId kind,
                                             uint32_t position);

  // Call when the graph may have changed.
  void NextSearch() { ++search_; }

  // Call each together with the e-graph's method.
  void Mark() { marks_.push_back(touched_.size()); }
  void Rollback();
  void Forget();

 private:
  struct Group {
    uint64_t key;  // The kind; the position in the upper 32 bits.
    std::vector<ENodeId> nodes;
    std::array<std::vector<ClassId>, 2> children;
    std::array<uint32_t, 2> children_of = {0, 0};  // Value of search_ at which they were made.
  };
  // The listed part of a chain, from `first` to `last`. Neither was a duplicate at that time.
  template <typename Link>
  struct Lists {
    Link first;
    Link last;
    uint32_t search = 0;  // Value of search_ when it was last completed.
    std::vector<Group> groups;
  };
  template <typename Link>
  using Table = absl::node_hash_map<ClassId, Lists<Link>>;

  template <typename Links>
  Lists<typename Links::Link>& UpToDate(const Links& links, ClassId id,
                                        Table<typename Links::Link>& table);
  Group* FindMembers(const EGraph& graph, ClassId id, KindId kind);
  static Group* Find(std::vector<Group>& groups, uint64_t key);
  // Moves added_ into the groups.
  void Append(std::vector<Group>& groups);

  const uint32_t large_;
  Table<ENodeId> members_;
  Table<UseId> uses_;
  uint32_t search_ = 1;
  std::vector<ClassId> touched_;  // Classes whose lists changed while there were marks.
  std::vector<size_t> marks_;     // Sizes of touched_ at each mark.
  std::vector<std::pair<uint64_t, ENodeId>> added_;
};

}  // namespace quotient::egraph
