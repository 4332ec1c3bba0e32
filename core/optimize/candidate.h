#pragma once

#include <optional>
#include <string>
#include <vector>

#include "core/model/graph.h"
#include "core/report/gains.h"
#include "core/report/report.h"

namespace quotient::optimize {

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
};

}  // namespace quotient::optimize
