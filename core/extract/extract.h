#pragma once

// Extraction: choosing one e-node per needed class so that the graph they form is cheap.

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

// An e-node and one of its children that can be one kernel, if nothing else uses the child. Of one
// consumer and one class all are of one kind.
struct Fusion {
  enum class Kind {
    kEpilogue,  // the kernel of the producer does the consumer's work, too: one producer at most
    kInPlace,   // one reads or writes where the other's tensor lies: any number of producers
  };
  ENodeId consumer;
  ENodeId producer;
  // All kInPlace of a consumer and any one kEpilogue save at most its cost together.
  double saving;
  Kind kind = Kind::kEpilogue;
};

// E-nodes that are one kernel as soon as that costs less than those of them that are chosen would
// each by itself: Slices of a tensor, which are one Split.
struct SharedKernel {
  std::vector<ENodeId> members;
  double cost;  // >= 0, whatever the number of members that are chosen
};

// Cost of e-nodes in microseconds, >= 0, each counted once however often its class is used.
// Deterministic during one extraction.
class CostFunction {
 public:
  virtual ~CostFunction() = default;
  // Of the e-node as a kernel of its own. Infinity: it must not be chosen.
  virtual double Cost(ENodeId node) const = 0;
  // What makes the cost of a selection less than the sum of its e-nodes' costs.
  virtual std::vector<Fusion> Fusions() const { return {}; }
  // The same. An e-node is a member of one at most, and fuses with nothing then.
  virtual std::vector<SharedKernel> SharedKernels() const { return {}; }
};

// For every class that the roots need, the chosen e-node; acyclic.
struct Selection {
  std::vector<ENodeId> choice;  // by ClassId value; invalid where not needed
  double cost = 0;  // sum over needed classes, each once, less what kernels of several save
  // No selection can be cheaper than this; 0 where nothing is known.
  double lower_bound = 0;

  ENodeId of(ClassId id) const { return choice[id.value()]; }
};

struct Problem {
  const EGraph& graph;
  const CostFunction& cost;
  std::span<const ClassId> roots;
};

class Extractor {
 public:
  virtual ~Extractor() = default;
  virtual const char* name() const = 0;
  // What its answer is optimal for: "tree", "dag" or "nothing".
  virtual const char* optimal_for() const = 0;
  // Anytime: returns its best when `stop` says so. NOT_FOUND if no finite selection exists. Debug
  // builds check every answer: INTERNAL if it is wrong.
  absl::StatusOr<Selection> Extract(const Problem& problem, const StopCondition& stop) const;

 private:
  virtual absl::StatusOr<Selection> Choose(const Problem& problem,
                                           const StopCondition& stop) const = 0;
};

// All extractors; README.md has the table.
std::span<const Extractor* const> AllExtractors();
const Extractor* FindExtractor(absl::string_view name);

// Independent of every extractor: is the selection complete, acyclic, of the right classes; its
// cost recomputed. INTERNAL naming the class that is wrong.
absl::StatusOr<double> CheckSelection(const Problem& problem, const Selection& selection);

}  // namespace quotient::extract
