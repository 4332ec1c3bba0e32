#pragma once

// ClassSet: some classes of an e-graph, where all that were merged are one.

#include <span>

#include "absl/container/flat_hash_set.h"
#include "core/egraph/egraph.h"

namespace quotient::optimize {

// Borrows the e-graph, which must not merge classes as long as the set is used.
class ClassSet {
 public:
  ClassSet(const egraph::EGraph& graph, std::span<const egraph::ClassId> classes) : graph_(graph) {
    for (const egraph::ClassId id : classes) canonical_.insert(graph.Find(id));
  }
  bool contains(egraph::ClassId id) const { return canonical_.contains(graph_.Find(id)); }

 private:
  const egraph::EGraph& graph_;
  absl::flat_hash_set<egraph::ClassId> canonical_;
};

}  // namespace quotient::optimize
