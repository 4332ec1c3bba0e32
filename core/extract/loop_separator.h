#pragma once

// Finds the rows that keep a solution of the linear program from closing cycles.
//
// For a set C of classes and any class j in C: if j is needed, then among the needed classes of C
// one chose an e-node without a child in C, since an acyclic graph has a last vertex:
//
//   Σ x(n) >= y(j)     over the e-nodes n of the classes of C that have no child in C.
//
// For the classes of one cycle this implies that not all of its edges are chosen, and it cuts off
// more: answer set programming calls it a loop formula (F. Lin, Y. Zhao, "ASSAT", AIJ 157, 2004).
//
// A cycle in which y(c) - Σ x(n with the next class as a child), summed over its classes c, is less
// than the largest y(c) violates it, and these are found as shortest paths. So no integer solution
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

  // Inequalities that the solution violates by more than a tolerance: for each class on a violated
  // cycle that no inequality found before covers. Empty: there is none,
  // or `stop` came first.
  std::vector<LoopInequality> Separate(std::span<const double> node_value,
                                       std::span<const double> class_value,
                                       const StopCondition& stop);

 private:
  // From a class to a child in the same strongly connected component.
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
  std::vector<uint32_t> edge_begin_;  // by Class, and one more
  std::vector<Edge> edges_;
  egraph::GroupedList<uint32_t> edges_of_node_;  // by Node: indices into edges_
  // Of one call of CheapestCycle.
  std::vector<double> distance_;  // by Class; infinite between calls
  std::vector<Class> from_;       // by Class
  std::vector<Class> touched_;
  std::vector<bool> inside_;  // by Class, of one call of MakeInequality; else false
};

}  // namespace quotient::extract
