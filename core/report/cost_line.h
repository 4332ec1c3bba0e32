#pragma once

// Best costs over time, drawn as a line of steps.

#include <span>
#include <string>

#include "core/report/report.h"

namespace quotient::report {

// A place in an SVG drawing. Time runs to the right on a logarithmic axis, since most of what is
// gained is gained early; cost grows upward. What lies outside of the ranges is drawn on the edge.
struct CostFrame {
  double left = 0;
  double top = 0;
  double width = 0;
  double height = 0;
  double first_seconds = 0;  // above zero
  double last_seconds = 0;   // above the first
  double least_us = 0;
  double most_us = 0;

  double X(double seconds) const;
  double Y(double cost_us) const;
};

// The points of a polyline: from the left edge on, until `end_seconds`. Nothing for no steps.
std::string CostLine(const CostFrame& frame, std::span<const SearchStep> steps, double end_seconds);

}  // namespace quotient::report
