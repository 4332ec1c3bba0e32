// The section of the page about what to do next, as far as the report tells.

#include <string>

#include "absl/strings/str_cat.h"
#include "core/base/stop.h"
#include "core/report/html.h"
#include "core/report/report.h"

namespace quotient::report {
namespace {

void Add(absl::string_view html, std::string* items) {
  absl::StrAppend(items, "<li>", html, "</li>");
}

// What would make the figures surer.
void AddOfFigures(const Report& report, std::string* items) {
  if (!report.measured && !report.recorded.has_value()) {
    Add("Nothing was run: the gain is that of a model of the device. With <code>--device</code> of "
        "a device that is there, the result is timed against the original.",
        items);
  } else if (report.recorded.has_value()) {
    Add("Times are those of a snapshot. On the device itself, <code>--device</code> times the "
        "result against the original.",
        items);
  } else if (HasEstimates(report)) {
    Add("Some kernels were not measured in time, and have a ~ before their cost. A larger "
        "<code>--budget</code> leaves more time to measure them.",
        items);
  }
}

// What would let the search find more.
void AddOfSearch(const Report& report, std::string* items) {
  if (report.search.stop_reason == StopReasonName(StopReason::kDeadline)) {
    Add("The search ended because its time was up. A larger <code>--budget</code> may find more.",
        items);
  } else if (report.search.stop_reason == StopReasonName(StopReason::kNodeLimit)) {
    Add("The search ended because its e-graph was full. More <code>--max-nodes</code> may find "
        "more.",
        items);
  }
  if (report.explanation.has_value()) {
    Add("<a href=\"#explanation\">What the runtime made of it</a> says which kernels have room "
        "left, and why.",
        items);
  }
}

}  // namespace

std::string NextSection(const Report& report) {
  std::string items;
  if (!report.notes.empty()) {
    Add("Read the notes under <a href=\"#circumstances\">Circumstances</a>: they say what the "
        "result rests on.",
        &items);
  }
  if (report.passed_through.empty()) {
    AddOfFigures(report, &items);
    AddOfSearch(report, &items);
    Add("To ask why a rewrite that you expected is not here: <code>--why-not RULE@NODE</code>.",
        &items);
  }
  if (report.outcome == Outcome::kImproved) {
    Add("To compare both models once more: <code>quotient check ORIGINAL RESULT</code>. If a check "
        "of your own objects to the result, <code>quotient bisect</code> finds the rule.",
        &items);
  }
  return absl::StrCat("<section id=\"next\"><h2>What next</h2><ul>", items, "</ul></section>");
}

}  // namespace quotient::report
