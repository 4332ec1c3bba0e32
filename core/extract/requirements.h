#pragma once

// Requirements: for each class the classes that are below it in every acyclic selection with that
// class. These are the dominators of an and-or graph.

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
  // A set of classes, as a row of bits.
  using Set = std::vector<uint64_t>;
  static bool Has(std::span<const uint64_t> set, Class id) {
    return (set[id.value() / 64] >> (id.value() % 64) & 1) != 0;
  }
  // Calls visit(Class) in ascending order.
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

  // Nothing if it would take too much memory (a bit for each pair of classes), or if `stop` fires.
  // Borrows `instance`.
  static std::optional<Requirements> Compute(const Instance& instance, const StopCondition& stop);

  // What the class requires, including itself.
  std::span<const uint64_t> of(Class id) const {
    return std::span(bits_).subspan(id.value() * num_words_, num_words_);
  }
  // What the children of the node require: the least that the node adds to a selection.
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

// By Class, whether every selection is known to contain it. Uses the requirements, if there are
// any.
std::vector<bool> FindForced(const Instance& instance,
                             const std::optional<Requirements>& requirements);

}  // namespace quotient::extract
