#pragma once

// Inquiry: one question of Options::why_not, asked of a search that has ended.

#include <set>
#include <string>
#include <vector>

#include "core/base/stop.h"
#include "core/optimize/asked_search.h"
#include "core/optimize/job.h"
#include "core/optimize/question.h"
#include "core/report/report.h"

namespace quotient::optimize {

struct Findings {
  report::WhyNot answer;         // Without an answer if that depends on what is decided.
  std::set<std::string> places;  // Names of the nodes and values that the rule rewrites there.
  std::set<size_t> found;        // The candidates that use what the rule makes there.
};

// The e-graphs are the same afterwards, even if memory runs out, except that costs are by all that
// is known of kernels. The answer is no_time if `stop` fires before another one is known.
Findings Inquire(const Job& job, const EndedSearch& search, const Beginning& beginning,
                 const Question& question, const StopCondition& stop);

// Whether a rewrite in the journal is by this rule, at least as a step, and at one of these places.
bool Uses(const std::vector<report::JournalEntry>& journal, const std::string& rule,
          const std::set<std::string>& places);

}  // namespace quotient::optimize
