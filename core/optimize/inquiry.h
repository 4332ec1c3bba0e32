#pragma once

// Inquiry: one question of Options::why_not, asked of a search that has ended.

#include <memory>
#include <set>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "core/domain/tensor_egraph.h"
#include "core/optimize/candidate.h"
#include "core/optimize/grown_egraph.h"
#include "core/optimize/job.h"
#include "core/optimize/prepared.h"
#include "core/optimize/question.h"
#include "core/report/report.h"
#include "core/rules/rule_set.h"

namespace quotient::optimize {

// What a search ended with. All is borrowed.
struct EndedSearch {
  const Prepared& prepared;
  GrownEGraph& grown;
  const std::vector<Candidate>& found;
  const report::SearchFigures& figures;
  int max_opset = 0;  // The newest opset that a rewrite may need.
};

// The e-graph that the search started from, with all rules that there are, disabled or not.
struct Beginning {
  domain::TensorEGraph tensors;
  rules::RuleSet rules;
};

// `assume_finite_inputs`: as in Options.
absl::StatusOr<std::unique_ptr<Beginning>> Begin(const Job& job, const EndedSearch& search,
                                                 bool assume_finite_inputs);

struct Findings {
  report::WhyNot answer;         // Without an answer if that depends on what is decided.
  std::set<std::string> places;  // Names of the nodes and values that the rule rewrites there.
  std::set<size_t> found;        // The candidates that use what the rule makes there.
};

// The e-graphs are the same afterwards, except that costs are by all that is known of kernels.
Findings Inquire(const Job& job, const EndedSearch& search, const Beginning& beginning,
                 const Question& question);

// Whether a rewrite in the journal is by this rule, at least as a step, and at one of these places.
bool Uses(const std::vector<report::JournalEntry>& journal, const std::string& rule,
          const std::set<std::string>& places);

}  // namespace quotient::optimize
