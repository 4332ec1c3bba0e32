#pragma once

// The comparison of two models: whether the second computes what the first does, and if not, where
// they part.

#include <optional>
#include <string>
#include <vector>

#include "core/base/number_text.h"

namespace quotient::report {

// Sizes of the inputs at which both models were compared.
struct ComparedSizes {
  std::string shapes;      // "x=[1,3,224,224]"
  std::string kind;        // What is special about them; empty for most.
  int nodes = 0;           // Number of nodes of the first model that were evaluated there.
  int nodes_left_out = 0;  // Number of its nodes that could not be.
};

// The first value that both models compute under one name and that differs.
struct PartedValue {
  std::string name;
  std::string op;       // The operator that computes it in the second model.
  std::string element;  // "[1,3]"; empty if the types differ.
  Number first = 0.0;   // The element's number in both models.
  Number second = 0.0;
  int agreeing = 0;  // The number of values under one name before it that are the same.
};

struct Comparison {
  std::string first;  // Names of the files.
  std::string second;
  bool is_same = false;
  // Why a caller of the first model could not call the second one instead, a sentence each. No
  // values are compared then.
  std::vector<std::string> interface;
  // A sentence on what differs, where, and by how much. Empty if nothing does.
  std::string failure;
  std::string output;  // The output that differs. Empty if none, or if it is not about one.
  std::optional<PartedValue> parted;
  int input_sets = 0;  // Number of sets of inputs, at all sizes together.
  double max_relative_error = 0;
  double tolerance = 0;
  std::vector<ComparedSizes> sizes;  // Up to those that show a difference, which come last.
  std::vector<std::string> notes;    // Sentences.
};

// Lines for a terminal.
std::string ToText(const Comparison& comparison);
// Canonical JSON for programs.
std::string ToJson(const Comparison& comparison);

}  // namespace quotient::report
