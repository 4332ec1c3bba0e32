#pragma once

// Which classes have become one. Union by weight keeps Find logarithmic without writing, so that a
// const e-graph can be read by several threads, and a trail need not log compressed paths. One
// thread to change.

#include <cstdint>

#include "core/egraph/flat_array.h"
#include "core/egraph/ids.h"

namespace quotient::egraph {

class UnionFind {
 public:
  explicit UnionFind(Trail* trail) : parent_(trail) {}

  ClassId MakeSet() {
    const ClassId id(size());
    parent_.push_back(id);
    return id;
  }

  // Sets ever made; ids are below it.
  uint32_t size() const { return parent_.size(); }

  ClassId Find(ClassId id) const {
    const ClassId* const parents = parent_.data();
    while (parents[id.value()] != id) id = parents[id.value()];
    return id;
  }

  // Both must be roots. Which of them to keep is the caller's choice; logarithmic depth needs that
  // it is the one of larger weight, where weights add up.
  void Absorb(ClassId kept, ClassId absorbed) { parent_.Write(absorbed.value(), kept); }

  // For images of the whole.
  FlatArray<ClassId>& parents() { return parent_; }
  const FlatArray<ClassId>& parents() const { return parent_; }

 private:
  FlatArray<ClassId> parent_;
};

}  // namespace quotient::egraph
