#pragma once

// Finds more of the inequalities of loop_separator.h, for sets of classes that need not be cycles.
// They are what the relaxation lacks most: it may choose two alternatives by halves and what both
// need by a half only, and so on downwards until nearly nothing is left to pay for.
//
// Let each e-node send what it is chosen by to one of its children, its witness. Whatever the
// witnesses, a whole choice sends one unit from a needed class j down to e-nodes without children.
// So a fractional one must admit a flow of y(j) from j, with x(n) as the capacity of e-node n; if
// it does not, the classes on j's side of a minimum cut violate their inequality.

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

  // Inequalities that the solution violates; empty: none found, which proves nothing. `stop` ends
  // it early.
  std::vector<LoopInequality> Separate(std::span<const double> node_value,
                                       std::span<const double> class_value,
                                       const StopCondition& stop);

 private:
  // Arcs come in pairs, an arc and its reverse: i and i ^ 1.
  struct Arc {
    uint32_t to;
    double capacity;  // left
  };

  enum class Witness {
    kLeastSupported,  // the child that can be derived the least by what is chosen below it
    kDearest,         // the one with the dearest path below it
    kAny,             // by lot, which finds the most
  };
  static constexpr Witness kWitnesses[] = {Witness::kLeastSupported, Witness::kDearest,
                                           Witness::kAny, Witness::kAny, Witness::kAny};

  void SeparateAll(std::span<const double> class_value, const StopCondition& stop,
                   std::vector<LoopInequality>& found);
  void ComputeSupport(std::span<const double> node_value);
  void BuildNetwork(std::span<const double> node_value, Witness witness);
  void AddArc(uint32_t from, uint32_t to, double capacity);
  Class WitnessOf(Node node, Witness witness);

  // Dinic's algorithm from `source`; true if the flow falls short of `demand`.
  bool FallsShort(uint32_t source, double demand);
  bool SetLevels(uint32_t source);
  double Augment(uint32_t source, double limit);
  void ResetFlow();

  LoopInequality MakeInequality(std::span<const double> class_value) const;

  const Instance& instance_;
  const std::vector<double> path_cost_;  // by Class
  std::vector<Class> order_;             // children first, as far as cycles let them
  std::vector<double> support_;          // by Class
  Rng rng_{1};
  const uint32_t sink_;  // a vertex for each class, and this one

  std::vector<Arc> arcs_;
  std::vector<double> capacity_;            // of arcs_, before any flow
  std::vector<std::vector<uint32_t>> out_;  // by vertex: arcs
  std::vector<int> level_;                  // by vertex: -1 if out of reach
  std::vector<uint32_t> next_;              // by vertex: position in out_
  std::vector<uint32_t> path_;              // arcs
};

}  // namespace quotient::extract
