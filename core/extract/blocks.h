#pragma once

// Blocks: parts of an instance that can be solved one after the other.
//
//     root -> a, b    a -> c, d    b -> e, f    c -> g    d -> g
//
// A class is closed if it dominates all classes that it reaches. Its cost then depends on nothing
// above it, no cycle leads through it, and in the block above it can be replaced by a leaf of that
// cost. Here a is closed; c and d are not, since both reach g. A block is what lies below
// a closed class, or below the roots, down to the next closed classes. Only those closed classes
// are used that leave blocks of some size.
//
// A caller may know of classes that every selection needs (needed.h). Such a class is paid for
// anyway, so for its users it is a leaf that costs nothing, and it is a root of its own. What the
// roots still have in common then decides how many blocks there are below them.
//
// E-nodes of which a selection may have only one (Instance::computes) are in one block. E-nodes
// that cost nothing and need nothing are in every block that uses them.

#include <cstdint>
#include <limits>
#include <span>
#include <vector>

#include "core/egraph/grouped_list.h"
#include "core/extract/instance.h"

namespace quotient::extract {

// Whether an instance may consist of several blocks, or is known to be one. The rest that remains
// of a block can be cut again. That is only tried if it is much smaller, since a long chain could
// lose one end at a time.
enum class Form { kAny, kBlock };
inline Form FormOfRest(Form form, const Instance& instance, const Instance& rest) {
  const bool much_smaller =
      static_cast<double>(rest.num_nodes()) < 0.8 * static_cast<double>(instance.num_nodes());
  return much_smaller ? Form::kAny : form;
}

class Blocks {
 public:
  // O(n log n). Borrows `whole`.
  explicit Blocks(const Instance& whole) : Blocks(whole, {}) {}
  // `needed` is indexed by Class; empty if nothing is known.
  Blocks(const Instance& whole, std::vector<bool> needed);

  // Number of blocks. Blocks below a block come before it. If no class is known to be needed, the
  // last one has the roots.
  size_t size() const { return below_.size(); }
  // The blocks whose roots are leaves of this block.
  std::span<const uint32_t> below(size_t block) const { return below_[block]; }

  // The classes that the block lies below.
  std::span<const Class> roots(size_t block) const { return roots_[block]; }
  // A node that costs and needs nothing, if the class has one; otherwise invalid.
  Node free_node(Class id) const { return free_[id.value()]; }
  // The block that a class is in, unless it has a free node.
  uint32_t block_of(Class id) const { return block_of_[id.value()]; }
  // Whether the class is known to be needed.
  bool needed(Class id) const { return !needed_.empty() && needed_[id.value()]; }

  // The block as an instance of its own, a part of the whole. `cost` gives the cost of each block
  // below, by block.
  Instance Make(size_t block, std::span<const double> cost);

 private:
  static constexpr uint32_t kNoBlock = std::numeric_limits<uint32_t>::max();

  void FindFree();
  egraph::GroupedList<uint32_t> Edges() const;
  void Cut();
  void Divide(const egraph::GroupedList<uint32_t>& edges);
  void FindRoots();
  bool free(Class id) const { return free_[id.value()].valid(); }
  uint32_t LocalId(Class id);

  const Instance& whole_;
  std::vector<bool> needed_;  // By Class, or empty.
  uint32_t start_;            // The vertex above all roots.
  // By Class: a node that costs and needs nothing, if there is one.
  std::vector<Node> free_;
  std::vector<uint32_t> block_of_;            // By Class; kNoBlock if free.
  std::vector<std::vector<Class>> roots_;     // By block.
  std::vector<std::vector<uint32_t>> below_;  // By block.

  // --- Scratch of Make
  std::vector<uint32_t> local_id_;  // By Class.
  std::vector<uint32_t> made_in_;   // By Class: the call that assigned the id.
  uint32_t num_made_ = 0;
  std::vector<Class> classes_;  // By local id.
};

}  // namespace quotient::extract
