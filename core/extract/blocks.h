#pragma once

// Parts of an instance that can be solved one after the other.
//
//        root            A class is closed if whatever it can need is needed through it only: it
//       /    \           dominates all that it reaches. Then what it costs depends on nothing above
//      a      b          it, no cycle leads through it, and above it stands for a leaf of that
//      cost.
//     / \    / \         Here a and b are closed; d would be, if e were not b's, too. A block is
//     what
//    c   d  e   f        is below a closed class, or the roots, down to the next closed ones, of
//         \/             which those are taken that leave blocks of some size.
//
// E-nodes of which a selection has one at most (Instance::computes) are in one block. What costs
// nothing and needs nothing is in every block that uses it.

#include <cstdint>
#include <limits>
#include <span>
#include <vector>

#include "core/egraph/grouped_list.h"
#include "core/extract/instance.h"

namespace quotient::extract {

// Whether an instance is a block as it is. What is left of one can be cut again, but unless it is
// much smaller that is not tried: a long chain could lose an end each time.
enum class Form { kAny, kBlock };
inline Form FormOfRest(Form form, const Instance& instance, const Instance& rest) {
  const bool much_smaller =
      static_cast<double>(rest.num_nodes()) < 0.8 * static_cast<double>(instance.num_nodes());
  return much_smaller ? Form::kAny : form;
}

class Blocks {
 public:
  // Linear but for a logarithm. Borrows `whole`.
  explicit Blocks(const Instance& whole);

  // Those below a block come before it; the last one has the roots.
  size_t size() const { return below_.size(); }
  // Those whose roots are leaves of the block.
  std::span<const uint32_t> below(size_t block) const { return below_[block]; }

  // The block as an instance of its own, a part of the whole; `cost`, by block, says what those
  // below it cost.
  Instance Make(size_t block, std::span<const double> cost);

 private:
  static constexpr uint32_t kNoBlock = std::numeric_limits<uint32_t>::max();

  void FindFree();
  egraph::GroupedList<uint32_t> Edges() const;
  void Cut();
  bool free(Class id) const { return free_[id.value()].valid(); }
  uint32_t LocalId(Class id);

  const Instance& whole_;
  uint32_t start_;          // the vertex that all roots hang from
  std::vector<Node> free_;  // by Class: the e-node that costs and needs nothing, if there is one
  std::vector<uint32_t> block_of_;            // by Class; kNoBlock if free
  std::vector<Class> root_;                   // by block; invalid for the last
  std::vector<std::vector<uint32_t>> below_;  // by block

  // Of one call of Make.
  std::vector<uint32_t> local_id_;  // by Class
  std::vector<uint32_t> made_in_;   // by Class: the call that gave it that id
  uint32_t num_made_ = 0;
  std::vector<Class> classes_;  // by local id
};

}  // namespace quotient::extract
