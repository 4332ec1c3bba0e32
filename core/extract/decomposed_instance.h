#pragma once

// An instance laid out on a tree decomposition: vertices are classes, an e-node's class and
// children are a clique, so each e-node has a bag that holds them all. What a selection looks like
// from a bag fits into a few bits, since each vertex has a slot that no other one in its bags has.
//
// Not among the vertices is what nobody has to ask for: classes with an e-node that costs and needs
// nothing; and where all selections have a class, e-nodes that use it do not lead to it (but for
// those that it could close a cycle with). E-nodes of which a selection has one at most
// (Instance::computes) share a vertex that stands for having one.

#include <cstdint>
#include <limits>
#include <optional>
#include <vector>

#include "core/base/stop.h"
#include "core/egraph/grouped_list.h"
#include "core/extract/instance.h"
#include "core/extract/path_matrix.h"
#include "core/extract/tree_decomposition.h"

namespace quotient::extract {

// An e-node, as seen from a bag. Sets of vertices are masks of their slots.
struct Offer {
  Node node;
  uint32_t needs = 0;     // children
  uint32_t computes = 0;  // the vertex that it shares with others, if it does
  uint32_t leads_to = 0;  // children in the class's component, as places of a PathMatrix
};

struct Offers {
  uint32_t of = 0;     // the class
  uint32_t place = 0;  // in a PathMatrix, if it has one
  bool last = false;   // no other bag that is not below has e-nodes of the class
  std::vector<Offer> offers;
};

struct Bag {
  size_t num_children = 0;
  uint32_t required = 0;   // classes that all selections have, asked for here
  uint32_t exclusive = 0;  // what e-nodes share that a selection has one of
  std::vector<Offers> classes;
  // What is of no interest above: nothing there offers it, uses it, or starts or ends there.
  uint32_t no_more_offers = 0;
  uint32_t no_more_users = 0;
  uint32_t no_more_exclusive = 0;
  uint64_t no_more_paths = 0;
};

class DecomposedInstance {
 public:
  // Nothing if it is too wide, or if `stop` says so. `max_width` is 31 at most. Borrows `instance`.
  static std::optional<DecomposedInstance> Make(const Instance& instance, uint32_t max_width,
                                                const StopCondition& stop);

  // In an order in which what is below a bag comes right before it.
  size_t num_bags() const { return tree_.size(); }
  Bag DescribeBag(uint32_t bag) const;

  // A choice for the instance with these e-nodes where they are needed.
  std::vector<Node> Complete(std::span<const Node> chosen) const;

 private:
  static constexpr uint32_t kNone = std::numeric_limits<uint32_t>::max();
  // Bags, from the first to the last.
  struct Interval {
    uint32_t low = kNone;
    uint32_t high = 0;
  };

  explicit DecomposedInstance(const Instance& instance) : instance_(instance) {}

  void FindFree();
  void FindVertices();
  void FindCliques();
  bool AssignSlots();
  void PlaceNodes();
  bool NeedsToAsk(Class id, Class child) const;
  uint32_t Shared(Node node) const;
  bool AllBelow(const Interval& interval, uint32_t bag) const;
  Offers DescribeOffers(std::span<const Node> nodes, uint32_t bag) const;
  uint32_t Slot(uint32_t vertex) const { return 1u << slot_[vertex]; }

  const Instance& instance_;
  std::vector<Node> free_;            // by Class: the e-node that costs and needs nothing
  std::vector<bool> forced_;          // by Class: do all selections have it?
  std::vector<uint32_t> components_;  // see components.h
  std::vector<uint32_t> vertex_of_;   // by Class; kNone if free
  std::vector<uint32_t> shared_;      // by number, see Instance::computes: the vertex
  uint32_t num_vertices_ = 0;
  std::vector<Node> nodes_;                // of those that a selection can have, by Node
  egraph::GroupedList<uint32_t> cliques_;  // parallel
  TreeDecomposition tree_;
  egraph::GroupedList<Node> nodes_at_;  // by bag
  // By vertex.
  std::vector<bool> is_shared_;
  std::vector<bool> required_;
  std::vector<uint32_t> slot_;
  std::vector<uint32_t> place_;  // kNone where no cycle can be
  std::vector<Interval> offered_;
  std::vector<Interval> used_;
};

}  // namespace quotient::extract
