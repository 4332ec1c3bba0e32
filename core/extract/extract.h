#pragma once

// Extraction: chooses one e-node for each needed class, so that the graph they form is cheap.

#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "core/base/stop.h"
#include "core/egraph/egraph.h"

namespace quotient::extract {

using egraph::ClassId;
using egraph::EGraph;
using egraph::ENodeId;

// An e-node and an e-node of one of its children that can be one kernel, if nothing else uses the
// child: the producer's kernel also does the consumer's work, as its epilogue. A consumer can be
// the epilogue of one producer at most.
struct Fusion {
  ENodeId consumer;
  ENodeId producer;
  double saving;  // Microseconds, at most the consumer's cost.
};

// E-nodes that can be computed by one common kernel, for example the Slices of a tensor that make
// up one Split. The kernel is used if it costs less than its chosen members cost separately.
struct SharedKernel {
  std::vector<ENodeId> members;
  double cost;  // >= 0; does not depend on how many members are chosen.
};

// Costs of e-nodes in microseconds, >= 0. Each e-node counts once, however often its class is used.
// Deterministic, and spans stay valid, during one extraction.
class CostFunction {
 public:
  virtual ~CostFunction() = default;
  // The cost of the e-node as a kernel of its own. Infinite for an e-node that must not be chosen.
  virtual double Cost(ENodeId node) const = 0;
  // Fusions, which make a selection cheaper than the sum of its e-nodes. Those of e-nodes of
  // infinite cost have no effect.
  virtual std::span<const Fusion> Fusions() const { return {}; }
  // Shared kernels, which do the same. An e-node is a member of at most one, and members have no
  // fusions.
  virtual std::span<const SharedKernel> SharedKernels() const { return {}; }
};

// The chosen e-node for every class that the roots need; acyclic.
struct Selection {
  std::vector<ENodeId> choice;  // Indexed by ClassId; invalid for classes that are not needed.
  // The sum over needed classes, each counted once, less the savings of kernels that compute
  // several e-nodes.
  double cost = 0;
  // A lower bound on the cost of any selection; 0 if none is known.
  double lower_bound = 0;

  ENodeId of(ClassId id) const { return choice[id.value()]; }
};

struct Problem {
  const EGraph& graph;
  const CostFunction& cost;
  std::span<const ClassId> roots;
};

class BlockMemory;

class Extractor {
 public:
  virtual ~Extractor() = default;
  virtual const char* name() const = 0;
  // What its answer is optimal for: "tree", "dag" or "nothing".
  virtual const char* optimal_for() const = 0;
  // Returns the best selection found by the time `stop` fires. NOT_FOUND if no finite selection
  // exists. Debug builds check every answer and return INTERNAL for a wrong one.
  absl::StatusOr<Selection> Extract(const Problem& problem, const StopCondition& stop) const;
  // The same selection without a lower bound, for a caller that extracts from many e-graphs that
  // have much in common and keeps `memory` from one to the next (block_memory.h).
  absl::StatusOr<Selection> ExtractAgain(const Problem& problem, BlockMemory& memory,
                                         const StopCondition& stop) const;

 private:
  virtual absl::StatusOr<Selection> Choose(const Problem& problem,
                                           const StopCondition& stop) const = 0;
  // Extractors that have no use for a memory choose as ever.
  virtual absl::StatusOr<Selection> ChooseAgain(const Problem& problem, BlockMemory& /*memory*/,
                                                const StopCondition& stop) const {
    return Choose(problem, stop);
  }
};

// All extractors; README.md describes them.
std::span<const Extractor* const> AllExtractors();
const Extractor* FindExtractor(absl::string_view name);

// Checks independently of all extractors that the selection is complete, acyclic and of the right
// classes, and returns its recomputed cost. Otherwise an INTERNAL error names the class that is
// wrong.
absl::StatusOr<double> CheckSelection(const Problem& problem, const Selection& selection);

}  // namespace quotient::extract
