#pragma once

// FlowSeparator: finds more violated inequalities of loop_separator.h, for sets of classes that
// need not be cycles. They are what the relaxation lacks most: it may choose each of two
// alternatives by one half, then needs what both require by one half only, and so on downwards
// until hardly anything is left to pay for.
//
// Let each e-node send its value x(n) to one of its children, its witness. Whatever the witnesses,
// an integral solution sends one unit from each needed class down to e-nodes without children. A
// fractional solution must therefore admit a flow of y(j) from class j, where x(n) is the capacity
// of e-node n. If it does not, the classes on j's side of a minimum cut violate their inequality.

#include <cstdint>
#include <span>
#include <vector>

#include "core/base/rng.h"
#include "core/base/stop.h"
#include "core/extract/ilp_model.h"
#include "core/extract/instance.h"

namespace quotient::extract {

class FlowSeparator {
 public:
  // Borrows `instance`.
  explicit FlowSeparator(const Instance& instance);

  // Inequalities that the solution violates. If none are found, there may still be some. Ends early
  // when `stop` fires.
  std::vector<LoopInequality> Separate(std::span<const double> node_value,
                                       std::span<const double> class_value,
                                       const StopCondition& stop);

 private:
  // Arcs i and i ^ 1 are a pair: an arc and its reverse.
  struct Arc {
    uint32_t to;
    double capacity;  // Residual capacity.
  };

  enum class Witness {
    // The child that what is chosen below it supports least.
    kLeastSupported,
    kDearest,  // The child with the dearest path below it.
    kAny,      // A random child, which finds the most.
  };
  static constexpr Witness kWitnesses[] = {Witness::kLeastSupported, Witness::kDearest,
                                           Witness::kAny, Witness::kAny, Witness::kAny};

  void SeparateAll(std::span<const double> class_value, const StopCondition& stop,
                   std::vector<LoopInequality>& found);
  void ComputeSupport(std::span<const double> node_value);
  void BuildNetwork(std::span<const double> node_value, Witness witness);
  void AddArc(uint32_t from, uint32_t to, double capacity);
  Class WitnessOf(Node node, Witness witness);

  // Computes a maximum flow from `source` with Dinic's algorithm. True if it falls short of
  // `demand`.
  bool FallsShort(uint32_t source, double demand);
  bool SetLevels(uint32_t source);
  double Augment(uint32_t source, double limit);
  void ResetFlow();

  LoopInequality MakeInequality(std::span<const double> class_value) const;

  const Instance& instance_;
  const std::vector<double> path_cost_;  // By Class.
  std::vector<Class> order_;             // Children first, as far as cycles allow.
  std::vector<double> support_;          // By Class.
  Rng rng_{1};
  const uint32_t sink_;  // Vertices are the classes and this one.

  std::vector<Arc> arcs_;
  std::vector<double> capacity_;            // Capacities of arcs_ before any flow.
  std::vector<std::vector<uint32_t>> out_;  // By vertex: its arcs.
  std::vector<int> level_;                  // By vertex; -1 if not reachable.
  std::vector<uint32_t> next_;              // By vertex: position in out_.
  std::vector<uint32_t> path_;              // Arcs of the current path.
};

}  // namespace quotient::extract
