#pragma once

#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "core/domain/splits.h"
#include "core/domain/tensor_egraph.h"
#include "core/egraph/rule.h"
#include "core/model/graph.h"
#include "core/report/gains.h"
#include "core/report/report.h"

namespace quotient::optimize {

// What a candidate was made of.
struct ChosenFrom {
  std::shared_ptr<const domain::TensorEGraph> tensors;  // As the search has left it.
  // Those of the e-graph, which live as long as it does: origin i + 1 is rules[i].
  std::span<const egraph::Rule* const> rules;
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
  // For the journal of the result. Null if the e-graph is not kept.
  std::shared_ptr<const ChosenFrom> chosen_from;
};

}  // namespace quotient::optimize
