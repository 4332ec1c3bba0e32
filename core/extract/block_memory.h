#pragma once

// BlockMemory: how blocks (block_outline.h) were solved before. E-graphs that differ by a few
// rewrites have most blocks in common, and layers of a network are often equal blocks. What is
// remembered is a function of the block alone, so a memory changes no answer, whatever it has seen,
// unless two different blocks have equal hashes.

#include <cstdint>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "core/base/sequence_hash.h"

namespace quotient::extract {

// One thread.
class BlockMemory {
 public:
  using Content = SequenceHash::Value;

  struct Solution {
    // By Class of the block: the index of the chosen node among those of the class.
    std::vector<uint32_t> choice;
    double cost = 0;
  };

  // Null if a block of this content is not known. Valid until the next Remember.
  const Solution* Find(Content content) const {
    const auto found = solutions_.find(content);
    return found == solutions_.end() ? nullptr : &found->second;
  }
  void Remember(Content content, Solution solution);

 private:
  // Most numbers stored, which take 16 to 32 MB. When there are more, everything is forgotten.
  static constexpr size_t kMostNumbers = 1 << 22;

  absl::flat_hash_map<Content, Solution> solutions_;
  size_t num_numbers_ = 0;
};

}  // namespace quotient::extract
