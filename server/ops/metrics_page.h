#pragma once

// deploy/METRICS.md, which the metric table writes.

#include <string>

namespace quotient::ops {

// The page, as Markdown. `quotientd --metrics-page` prints it.
std::string MetricsPage();

}  // namespace quotient::ops
