#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "core/domain/splits.h"
#include "core/egraph/ids.h"
#include "core/model/graph.h"
#include "core/report/gains.h"
#include "core/report/report.h"

namespace quotient::optimize {

class GrownEGraph;

// What a candidate was made of.
struct ChosenFrom {
  std::shared_ptr<const GrownEGraph> grown;
  std::vector<egraph::ENodeId> choice;  // By ClassId.
  std::vector<domain::Split> splits;
};

// A graph that extraction chose.
struct Candidate {
  model::Graph graph;  // Symbols are kept and constants folded.
  double cost_us = 0;  // By the costs of e-nodes, with the surcharge on rewrites.
  std::vector<report::JournalEntry> journal;
  report::SharedNames names;  // Names which values of the original and of `graph` are equal.
  // For a variant, the names of the families of rewrites that it leaves out (RewriteFamily::name).
  std::vector<std::string> left_out;
  // Its place in Candidates::found; nullopt for what is not there.
  std::optional<size_t> found;
  // One for each search that it went through, for its journal. Null if its e-graph is not kept.
  std::vector<std::shared_ptr<const ChosenFrom>> chosen_from;
};

}  // namespace quotient::optimize
