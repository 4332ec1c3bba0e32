#pragma once

// Blocks: parts of an instance that can be solved one after the other.
//
//          root
//         /    \
//        a      b
//       / \    / \
//      c   d  e   f
//       \ /
//        g
//
// A class is closed if it dominates all classes that it reaches. Its cost then depends on nothing
// above it, no cycle leads through it, and in the block above it can be replaced by a leaf of that
// cost. In the drawing a is closed; c and d are not, since both reach g. A block is what lies below
// a closed class, or below the roots, down to the next closed classes. Only those closed classes
// are used that leave blocks of some size.
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
  explicit Blocks(const Instance& whole);

  // Number of blocks. Blocks below a block come before it; the last one has the roots.
  size_t size() const { return below_.size(); }
  // The blocks whose roots are leaves of this block.
  std::span<const uint32_t> below(size_t block) const { return below_[block]; }

  // The block as an instance of its own, a part of the whole. `cost` gives the cost of each block
  // below, by block.
  Instance Make(size_t block, std::span<const double> cost);

 private:
  static constexpr uint32_t kNoBlock = std::numeric_limits<uint32_t>::max();

  void FindFree();
  egraph::GroupedList<uint32_t> Edges() const;
  void Cut();
  bool free(Class id) const { return free_[id.value()].valid(); }
  uint32_t LocalId(Class id);

  const Instance& whole_;
  uint32_t start_;  // The vertex above all roots.
  // By Class: a node that costs and needs nothing, if there is one.
  std::vector<Node> free_;
  std::vector<uint32_t> block_of_;            // By Class; kNoBlock if free.
  std::vector<Class> root_;                   // By block; invalid for the last.
  std::vector<std::vector<uint32_t>> below_;  // By block.

  // --- Scratch of Make
  std::vector<uint32_t> local_id_;  // By Class.
  std::vector<uint32_t> made_in_;   // By Class: the call that assigned the id.
  uint32_t num_made_ = 0;
  std::vector<Class> classes_;  // By local id.
};

}  // namespace quotient::extract
