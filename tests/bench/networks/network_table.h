#pragma once

// Runs as text: a line for each, and a table of what they come to.

#include <span>
#include <string>
#include <vector>

#include "absl/strings/string_view.h"
#include "tests/bench/networks/network_run.h"

namespace quotient {

// The columns of a run, and what stands in them; nothing where nothing was measured.
std::vector<std::string> RunColumns();
std::vector<std::string> RunCells(const NetworkRun& run);

// A line of a CSV file, without its end, in the manner of RFC 4180.
std::string CsvLine(std::span<const std::string> cells);

// Best cost over time as a CSV file: for each run a line at each time that its best cost fell.
std::string CurvesOf(std::span<const NetworkRun> runs);

// A table for each device: a line for each network and strategy. Where the device is a model,
// beside what was published of networks of the papers.
std::string Summary(std::span<const NetworkRun> runs);

}  // namespace quotient
