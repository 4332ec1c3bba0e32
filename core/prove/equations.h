#pragma once

// Equations: whether the e-nodes of an e-graph that rules have grown still have the values of their
// classes. Values are taken before anything is rewritten, so a rule that makes two values equal
// that are not is found as well as one that adds a wrong e-node.

#include <cstdint>
#include <limits>
#include <memory>
#include <set>
#include <string>

#include "core/domain/tensor_egraph.h"
#include "core/prove/point.h"

namespace quotient::prove {

// What Check found.
struct Agreement {
  // The first e-node, or pair of values, that differs, e-node that fails, or class whose type is
  // not that of its value; empty if there is none.
  std::string difference;
  // How far these values are apart, as largest_error: infinite if it is no matter of rounding, as
  // with NaN on one side, or where something fails.
  double distance = std::numeric_limits<double>::infinity();
  // An operator without a definition that kept something from being compared that rules added or
  // made equal; empty if there is none.
  std::string gap;
  // An operator without a value for its operands, such as the mean of nothing, that did; empty if
  // there is none.
  std::string undefined;
  // E-nodes that rules added, and pairs of classes that they made one, whose values were compared.
  // Values that say nothing do not count: those without elements, or with nothing but NaN.
  int64_t compared = 0;
  std::set<std::string> functions;  // Those on either side that were left open, see operation.h.
  std::set<std::string> rounding;   // Operators that were not evaluated in double, in floats.
  // Of what agrees, relative to an element or to what cancels in it (conditioning.h); 0 if exact.
  double largest_error = 0;
};

// For one e-graph.
class Equations {
 public:
  virtual ~Equations() = default;
  // Compares every e-node with its class. The e-graph is clean.
  virtual Agreement Check() = 0;
};

// Take the values of all classes of an e-graph in which nothing has been rewritten, for random
// inputs of the sizes that they have in `bound`: the graph of the e-graph itself if its types are
// static, or the same graph with every symbol bound. Borrow the e-graph. In the first, numbers are
// field elements and nothing is rounded; in the second they are doubles, whatever float type the
// model declares (FloatArithmetic names the exceptions), and values agree up to the rounding of
// constants of that type. The second also finds e-nodes that fail: a rule may add none for sizes at
// which the original runs.
std::unique_ptr<Equations> EquationsInField(const domain::TensorEGraph& tensors,
                                            const model::Graph& bound, uint64_t seed);
std::unique_ptr<Equations> EquationsInFloats(const domain::TensorEGraph& tensors,
                                             const model::Graph& bound, Point point);

}  // namespace quotient::prove
