#pragma once

// What simplifying a model did: its operators before and after, and how the result was checked.

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "core/report/report.h"

namespace quotient::report {

// A model as a file, or as several.
struct ModelFigures {
  std::map<std::string, int64_t> operators;  // Nodes of the main graph: "Conv", "com.acme.Foo".
  int64_t bytes = 0;                         // External data included.

  int64_t nodes() const;
};

struct Simplification {
  std::string model_name;
  // Whether the result is another file than the model.
  bool is_simplified = false;
  // Whether its graph is that of the model, node for node: then there was nothing to check. If the
  // result is the model itself for another reason, a note says why.
  bool is_same_graph = false;
  ModelFigures before;
  ModelFigures after;
  std::map<std::string, int64_t> rules;  // Number of rewrites in the result by each rule.
  Verification verification;
  double seconds = 0;        // All of it.
  double check_seconds = 0;  // Of these, for the check.
  std::vector<std::string> notes;
};

// Lines for a terminal.
std::string ToText(const Simplification& simplification);
// JSON for programs, canonical but for the seconds.
std::string ToJson(const Simplification& simplification);

}  // namespace quotient::report
