#pragma once

#include <string>
#include <vector>

#include "core/model/graph.h"
#include "core/report/gains.h"
#include "core/report/report.h"

namespace quotient::optimize {

// A graph that extraction chose.
struct Candidate {
  model::Graph graph;  // Symbols are kept and constants folded.
  double cost_us = 0;  // By the costs of e-nodes.
  std::vector<report::JournalEntry> journal;
  report::SharedNames names;  // Names which values of the original and of `graph` are equal.
  std::vector<std::string> left_out;  // Of a variant: RewriteFamily::name of what it does without.
};

}  // namespace quotient::optimize
