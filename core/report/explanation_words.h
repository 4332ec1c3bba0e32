#pragma once

// Phrases of an explanation, for the terminal and the page. Those of names from the model are
// neither escaped nor cut.

#include <string>

#include "core/report/explanation.h"

namespace quotient::report {

// What Quotient did about a place, and what that saves.
std::string DoneText(const WhatWasDone& done);

// "143 GFLOP/s, 60 GB/s in the caches, 12 GB/s from memory, 1.2 us to start a kernel".
std::string PeakText(const Peak& peak);

// What the time at the peak is: "that of its arithmetic".
std::string BoundText(const KernelsBelowPeak& kernels);

// What Quotient made of the model.
std::string ResultText(const Report& report);

}  // namespace quotient::report
