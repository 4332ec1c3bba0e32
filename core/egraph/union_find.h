#pragma once

// A union-find over classes. It unites by weight and does not compress paths: Find is logarithmic
// and writes nothing, so several threads can read a const e-graph and a Trail has no path
// compression to log. One thread may change it.

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

  // Number of sets ever made. All ids are smaller.
  uint32_t size() const { return parent_.size(); }

  ClassId Find(ClassId id) const {
    const ClassId* const parents = parent_.data();
    while (parents[id.value()] != id) id = parents[id.value()];
    return id;
  }

  // Both must be roots. The caller chooses which one to keep; for logarithmic depth it must keep
  // the one of larger weight, where the weights of united sets add up.
  void Absorb(ClassId kept, ClassId absorbed) { parent_.Write(absorbed.value(), kept); }

 private:
  FlatArray<ClassId> parent_;
};

}  // namespace quotient::egraph
