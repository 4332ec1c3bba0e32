#pragma once

// LoopSeparator: finds the rows that keep a solution of the linear program from closing cycles.
//
// Let C be a set of classes and j a class in C. If j is needed, then some needed class of C chose
// an e-node without a child in C, since an acyclic graph has a last vertex:
//
//   Σ x(n) >= y(j)     over the e-nodes n of the classes of C that have no child in C.
//
// For the classes of a cycle this implies that not all of its edges are chosen, but it cuts off
// more. Answer set programming calls it a loop formula (F. Lin, Y. Zhao, "ASSAT", AIJ 157, 2004).
//
// A cycle violates it if the sum over its classes c of y(c) - Σ x(n with the next class as a child)
// is less than the largest y(c). Such cycles are found as shortest paths, so no integral solution
// with a cycle passes.

#include <cstdint>
#include <span>
#include <vector>

#include "core/base/stop.h"
#include "core/extract/ilp_model.h"
#include "core/extract/instance.h"

namespace quotient::extract {

class LoopSeparator {
 public:
  // Borrows `instance`.
  explicit LoopSeparator(const Instance& instance);

  // Inequalities that the solution violates by more than a tolerance, one for each class on a
  // violated cycle that is not covered by an inequality found before. If none are found, there are
  // none, or `stop` has fired.
  std::vector<LoopInequality> Separate(std::span<const double> node_value,
                                       std::span<const double> class_value,
                                       const StopCondition& stop);

 private:
  // An edge from a class to a child in the same strongly connected component.
  struct Edge {
    Class to;
    double slack;  // y(class) - Σ x(e-nodes with the child)
  };

  void SetSlacks(std::span<const double> node_value, std::span<const double> class_value);
  // The classes of the cheapest cycle through `start`; empty if its slack is not below `limit`.
  std::vector<Class> CheapestCycle(Class start, double limit);
  LoopInequality MakeInequality(const std::vector<Class>& cycle,
                                std::span<const double> class_value);

  const Instance& instance_;
  // By Class, with one more entry for the end.
  std::vector<uint32_t> edge_begin_;
  std::vector<Edge> edges_;
  egraph::GroupedList<uint32_t> edges_of_node_;  // By Node: indices into edges_.

  // --- Scratch of CheapestCycle
  std::vector<double> distance_;  // By Class; infinite between calls.
  std::vector<Class> from_;       // By Class.
  std::vector<Class> touched_;
  // Scratch of MakeInequality, by Class; false between calls.
  std::vector<bool> inside_;
};

}  // namespace quotient::extract
