#pragma once

// Best cost over time as a picture.

#include <span>
#include <string>

#include "tests/bench/networks/network_run.h"

namespace quotient {

// SVG: a panel for each network and device, in it a line for each strategy, the median over its
// seeds at any time. All panels have the same axis of time, and each its own of cost.
std::string DrawRuns(std::span<const NetworkRun> runs);

}  // namespace quotient
