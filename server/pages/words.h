#pragma once

// Words and small pieces of HTML that the pages share. What is returned can stand in HTML as it is.
// Arguments that end in _html are HTML already; other texts are escaped, and texts of users cut to
// a length that a page has room for.

#include <cstdint>
#include <string>

#include "absl/strings/string_view.h"
#include "server/jobs/job.h"
#include "server/pages/job_facts.h"

namespace quotient::pages {

// A text in at most so many characters, of which the last three are "..." if it was longer.
std::string Shortened(absl::string_view text, size_t most);

// "2026-03-14 09:26:53 UTC" as an element <time>; "-" for 0.
std::string TimeOf(int64_t unix_ms);
// "42 s", "3 min 20 s", "5 h 12 min", "3 d 4 h".
std::string Duration(int64_t ms);
// "1.2 GiB", "512 bytes".
std::string Bytes(int64_t bytes);

// The state as a word behind a sign, so that neither color nor sign is needed to read it.
std::string StateWord(jobs::JobState state);
// The same without the sign: "waiting", "running", ...
absl::string_view PlainState(jobs::JobState state);

// The phase, a bar with its percentage; "starting" before the first report.
std::string ProgressBar(const JobFacts& job);

// "25.0 % faster", "no improvement", or "-".
std::string GainWords(const JobFacts& job);

// A card with a figure.
std::string Card(absl::string_view label, absl::string_view value_html,
                 absl::string_view more_html);

}  // namespace quotient::pages
