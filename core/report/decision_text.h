#pragma once

// The decision in words, which the table and the page share.

#include <span>
#include <string>
#include <vector>

#include "absl/strings/string_view.h"
#include "core/report/report.h"

namespace quotient::report {

// A line for each candidate that was judged: what it is, what was predicted and measured of it, and
// why it was taken or not. The lines have names of rules only, nothing from the model.
std::vector<std::string> DecisionLines(std::span<const Considered> considered);

// On what an improvement rests where runs with all threads alone do not make it sure that the
// result is faster, and why they do not, as a phrase for headings: "it does only a part of the
// work; the measurement alone does not tell". Empty where they do, and for a report without an
// improvement.
std::string GroundsText(const Report& report);
// "25.0 % faster", or "35.2 % less CPU time on one thread": what was measured to be gained. Empty
// if nothing was measured, or if it may as well be a loss.
std::string MeasuredGainText(const Report& report);
// Whether Report::speedup_percent is that of the CPU time of runs on one thread.
bool IsGainOfCpuTime(const Report& report);
// What Report::speedup_interval compares, as a phrase.
absl::string_view IntervalText(const Report& report);

}  // namespace quotient::report
