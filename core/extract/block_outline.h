#pragma once

// BlockOutline: what a block (blocks.h) consists of, found without making an instance of it, so
// that a block that was seen before can be recognized at little cost.

#include <cstdint>
#include <span>
#include <vector>

#include "core/base/sequence_hash.h"
#include "core/extract/blocks.h"
#include "core/extract/instance.h"

namespace quotient::extract {

struct BlockOutline {
  // Classes of the whole, by Class of the instance that Blocks::Make makes of the block.
  std::vector<Class> classes;
  // Covers all that an extractor can tell of the block. Blocks of equal content have equal
  // instances, apart from the e-nodes and classes of the e-graph that the numbers stand for.
  SequenceHash::Value content;
};

// Outlines the blocks of one instance. One thread.
class BlockOutlines {
 public:
  // Borrows both.
  BlockOutlines(const Instance& whole, const Blocks& blocks);

  // `cost` is that of Blocks::Make. Valid until the next call. Takes time proportional to the
  // block.
  const BlockOutline& Of(size_t block, std::span<const double> cost);

 private:
  // A number per item, counted from 0 in each outline in the order of first use.
  class Numbering {
   public:
    explicit Numbering(size_t num_items) : number_(num_items), used_in_(num_items, 0) {}
    void Restart() {
      ++outline_;
      next_ = 0;
    }
    uint32_t Of(uint32_t item) {
      if (used_in_[item] != outline_) {
        used_in_[item] = outline_;
        number_[item] = next_++;
      }
      return number_[item];
    }

   private:
    std::vector<uint32_t> number_;
    std::vector<uint32_t> used_in_;  // The outline in which the item was numbered last.
    uint32_t outline_ = 0;
    uint32_t next_ = 0;
  };

  uint32_t NumberOf(Class id);
  void AddClass(Class id, size_t block, std::span<const double> cost);
  void AddNode(Node node);

  const Instance& whole_;
  const Blocks& blocks_;
  BlockOutline outline_;
  SequenceHash content_;
  Numbering classes_;   // By Class.
  Numbering computed_;  // By number of a computation (Instance::computes).
};

}  // namespace quotient::extract
