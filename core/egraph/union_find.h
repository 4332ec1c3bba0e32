#pragma once

// Which classes have become one. Union by weight keeps Find logarithmic without writing, so that a
// const e-graph can be read by several threads; Flatten makes it constant. One thread to change.

#include <cstdint>
#include <vector>

#include "core/egraph/ids.h"

namespace quotient::egraph {

class UnionFind {
 public:
  ClassId MakeSet() {
    const ClassId id(size());
    parent_.push_back(id);
    return id;
  }

  // Sets ever made; ids are below it.
  uint32_t size() const { return static_cast<uint32_t>(parent_.size()); }

  ClassId Find(ClassId id) const {
    while (parent_[id.value()] != id) id = parent_[id.value()];
    return id;
  }

  // Both must be roots. Which of them to keep is the caller's choice; logarithmic depth needs that
  // it is the one of larger weight, where weights add up.
  void Absorb(ClassId kept, ClassId absorbed) { parent_[absorbed.value()] = kept; }

  // Points every id at its root.
  void Flatten() {
    for (ClassId& parent : parent_) parent = Find(parent);
  }

 private:
  std::vector<ClassId> parent_;
};

}  // namespace quotient::egraph
