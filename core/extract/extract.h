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

// Cost of e-nodes in microseconds, >= 0, each counted once however often its class is used.
class CostFunction {
 public:
  virtual ~CostFunction() = default;
  // Infinity: the e-node must not be chosen. Deterministic during one extraction.
  virtual double Cost(ENodeId node) const = 0;
};

// For every class that the roots need, the chosen e-node; acyclic.
struct Selection {
  std::vector<ENodeId> choice;  // by ClassId value; invalid where not needed
  double cost = 0;              // sum over needed classes, each once
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
  // Anytime: returns its best when `stop` says so. NOT_FOUND if no finite selection exists.
  virtual absl::StatusOr<Selection> Extract(const Problem& problem,
                                            const StopCondition& stop) const = 0;
};

// All extractors; README.md has the table.
std::span<const Extractor* const> AllExtractors();
const Extractor* FindExtractor(absl::string_view name);

// Independent of every extractor: is the selection complete, acyclic, of the right classes; its
// cost recomputed. INTERNAL naming the class that is wrong.
absl::StatusOr<double> CheckSelection(const Problem& problem, const Selection& selection);

}  // namespace quotient::extract
