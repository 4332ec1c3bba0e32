#pragma once

// Which classes a class cannot do without: in every acyclic selection that has the class, they are
// below it. The dominators of an and-or graph.

#include <bit>
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "core/base/stop.h"
#include "core/extract/instance.h"

namespace quotient::extract {

class Requirements {
 public:
  // Sets of classes as rows of bits.
  using Set = std::vector<uint64_t>;
  static bool Has(std::span<const uint64_t> set, Class id) {
    return (set[id.value() / 64] >> (id.value() % 64) & 1) != 0;
  }
  // visit(Class), in ascending order.
  template <typename Visit>
  static void ForEach(std::span<const uint64_t> set, const Visit& visit) {
    for (uint32_t word = 0; word < set.size(); ++word) {
      for (uint64_t bits = set[word]; bits != 0; bits &= bits - 1) {
        visit(Class(word * 64 + static_cast<uint32_t>(std::countr_zero(bits))));
      }
    }
  }
  static void Unite(Set& set, std::span<const uint64_t> other) {
    for (size_t i = 0; i < set.size(); ++i) set[i] |= other[i];
  }

  // Nothing if it would take too much memory, which is a bit for each pair of classes, or if `stop`
  // came first. Borrows `instance`.
  static std::optional<Requirements> Compute(const Instance& instance, const StopCondition& stop);

  // With the class itself.
  std::span<const uint64_t> of(Class id) const {
    return std::span(bits_).subspan(id.value() * num_words_, num_words_);
  }
  // What the children require: all that the e-node adds to a selection at least.
  Set of(Node node) const;
  // What every selection requires.
  Set OfRoots() const;

 private:
  explicit Requirements(const Instance& instance);

  Set Empty() const { return Set(num_words_, 0); }
  bool Sweep(std::span<const Class> order);

  const Instance& instance_;
  const size_t num_words_;
  std::vector<uint64_t> bits_;
};

// By Class: do all selections have it? As far as the requirements tell, if there are any.
std::vector<bool> FindForced(const Instance& instance,
                             const std::optional<Requirements>& requirements);

}  // namespace quotient::extract
