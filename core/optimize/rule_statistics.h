#pragma once

// What a job adds to the statistics of rules (core/timing/rule_store.h), and which version of a
// rule that counts for.

#include <cstdint>
#include <map>
#include <string>

#include "absl/status/statusor.h"
#include "core/egraph/rule.h"
#include "core/optimize/job.h"
#include "core/report/report.h"
#include "core/timing/rule_store.h"

namespace quotient::optimize {

// Identifies what a rule does. For a rule that is text, it is a digest of the text and the
// equation: whoever changes these begins new statistics. A site rule has no text, so
// the engine's version stands for it.
std::string VersionOf(const egraph::Rule& rule);

// What the statistics of one job are, by its complete report. `versions` has the versions of the
// rules by name; rules without one are left out.
timing::DeviceRules StatisticsOf(const report::Report& report,
                                 const std::map<std::string, std::string>& versions,
                                 int64_t unix_s);

// Adds the job to the store of its environment, if there is one. A job in which nothing was tried
// is not counted. Nor may one be whose search was made again (rescue.h): its report has the counts
// of the first search, but the uses and savings of the result. Failures are logged: no job fails
// because of statistics.
void KeepStatistics(const Job& job, const report::Report& report);

}  // namespace quotient::optimize
