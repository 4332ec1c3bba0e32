#pragma once

// DecomposedInstance: an instance on a tree decomposition of its classes. Vertices are classes; the
// class and the children of an e-node are a clique, so some bag holds them all, and the e-node is
// placed there. Each vertex has a slot that no other vertex in its bags has, so sets of vertices of
// a bag are masks of a few bits.
//
// Some classes and edges are left out because nothing depends on them: classes with an e-node that
// costs and needs nothing are no vertices, and if all selections contain a class, e-nodes that use
// it have no edge to it (unless the edge could close a cycle). E-nodes of which a selection may
// have only one (Instance::computes) share a vertex that stands for having one.

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

// An e-node as seen from a bag. Sets of vertices are masks of their slots.
struct Offer {
  Node node;
  uint32_t needs = 0;  // Children that have to be chosen for.
  // The vertex that it shares with other e-nodes, if it does.
  uint32_t computes = 0;
  // Children in the class's component, as places of a PathMatrix.
  uint32_t leads_to = 0;
};

// The e-nodes of one class that are placed at a bag.
struct Offers {
  uint32_t of = 0;  // The class.
  // Place of the class in a PathMatrix, if it has one.
  uint32_t place = 0;
  // Whether all other bags with e-nodes of the class are below this one.
  bool last = false;
  std::vector<Offer> offers;
};

struct Bag {
  size_t num_children = 0;
  // Classes that all selections contain and that are required here.
  uint32_t required = 0;
  // Vertices shared by e-nodes of which a selection may have only one.
  uint32_t exclusive = 0;
  std::vector<Offers> classes;
  // What the bags above can ignore: vertices for which they have no e-nodes, vertices for which
  // they have no users, shared vertices for which they have no e-nodes, and the paths that end at
  // vertices of the first kind or start at vertices of the second.
  uint32_t no_more_offers = 0;
  uint32_t no_more_users = 0;
  uint32_t no_more_exclusive = 0;
  uint64_t no_more_paths = 0;
};

class DecomposedInstance {
 public:
  // Nothing if the instance is too wide, or if `stop` fires. `max_width` is 31 at most. Borrows
  // `instance`.
  static std::optional<DecomposedInstance> Make(const Instance& instance, uint32_t max_width,
                                                const StopCondition& stop);

  // Bags are numbered in postorder: what is below a bag comes directly before it.
  size_t num_bags() const { return tree_.size(); }
  Bag DescribeBag(uint32_t bag) const;

  // Completes a partial choice: a choice for the instance that has the chosen e-nodes where they
  // are needed.
  std::vector<Node> Complete(std::span<const Node> chosen) const;

 private:
  static constexpr uint32_t kNone = std::numeric_limits<uint32_t>::max();
  // A range of bags, from the first to the last.
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
  // Whether an e-node of the class has an edge to this child (see above).
  bool MustRequire(Class id, Class child) const;
  uint32_t Shared(Node node) const;
  bool AllBelow(const Interval& interval, uint32_t bag) const;
  Offers DescribeOffers(std::span<const Node> nodes, uint32_t bag) const;
  uint32_t Slot(uint32_t vertex) const { return 1u << slot_[vertex]; }

  const Instance& instance_;
  std::vector<Node> free_;            // By Class: an e-node that costs and needs nothing.
  std::vector<bool> forced_;          // By Class: whether all selections contain it.
  std::vector<uint32_t> components_;  // See components.h.
  std::vector<uint32_t> vertex_of_;   // By Class; kNone if free.
  // By number of a computation (Instance::computes): its vertex.
  std::vector<uint32_t> shared_;
  uint32_t num_vertices_ = 0;
  // The e-nodes that a selection may have, ordered by Node.
  std::vector<Node> nodes_;
  egraph::GroupedList<uint32_t> cliques_;  // Parallel to nodes_.
  TreeDecomposition tree_;
  egraph::GroupedList<Node> nodes_at_;  // By bag.

  // --- Indexed by vertex
  std::vector<bool> is_shared_;
  std::vector<bool> required_;
  std::vector<uint32_t> slot_;
  std::vector<uint32_t> place_;  // kNone where no cycle is possible.
  std::vector<Interval> offered_;
  std::vector<Interval> used_;
};

}  // namespace quotient::extract
