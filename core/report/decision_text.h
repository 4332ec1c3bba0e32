#pragma once

// The decision in words, which the table and the page share.

#include <string>
#include <vector>

#include "absl/strings/string_view.h"
#include "core/report/report.h"

namespace quotient::report {

// A line for each candidate that was judged: what it is, what was predicted and measured of it, and
// why it was taken or not. The lines have names of rules only, nothing from the model.
std::vector<std::string> DecisionLines(const Report& report);

// On what an improvement rests where the measurement alone does not tell that the result is faster,
// as a phrase for headings: "it does only a part of the work; the measurement alone does not tell".
// Empty where the measurement tells, and for a report without an improvement.
std::string GroundsText(const Report& report);
// What Report::speedup_interval compares, as a phrase.
absl::string_view IntervalText(const Report& report);

}  // namespace quotient::report
