#pragma once

// The search that a question of Options::why_not is about: what it began with and how it ended.

#include <memory>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "core/domain/tensor_egraph.h"
#include "core/optimize/candidate.h"
#include "core/optimize/grown_egraph.h"
#include "core/optimize/job.h"
#include "core/optimize/prepared.h"
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

// Why the search ended and how large its e-graph was, as a sentence without a full stop.
std::string HowItEnded(const Job& job, const EndedSearch& search);

}  // namespace quotient::optimize
