#pragma once

// Draws the best cost over time as a step line.

#include <span>
#include <string>

#include "core/report/report.h"

namespace quotient::report {

// The place of the line in an SVG drawing, and the ranges of its axes. Time runs to the right on a
// logarithmic axis, because most gains come early; cost grows upward. Points outside the ranges are
// drawn on the edge.
struct CostFrame {
  double left = 0;
  double top = 0;
  double width = 0;
  double height = 0;
  double first_seconds = 0;  // Greater than 0.
  double last_seconds = 0;   // Greater than first_seconds.
  double least_us = 0;
  double most_us = 0;

  double X(double seconds) const;
  double Y(double cost_us) const;
};

// The points of an SVG polyline from the left edge to `end_seconds`. Empty if there are no steps.
std::string CostLine(const CostFrame& frame, std::span<const SearchStep> steps, double end_seconds);

}  // namespace quotient::report
