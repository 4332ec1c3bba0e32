#pragma once

// Which values the labels of metrics can have, where other parts of the program know it.

#include <string>
#include <vector>

#include "server/ops/metric_table.h"

namespace quotient::ops {

// Service, method and type of each call that there is; and these with each status code.
std::vector<SeriesValues> CalledMethods();
std::vector<SeriesValues> HandledCalls();

// How a job can end, and why.
std::vector<SeriesValues> FinishedJobs();

// Names of devices on which kernels are measured.
std::vector<std::string> MeasuredDevices();

}  // namespace quotient::ops
