#pragma once

// Roofline: an estimate of how long a kernel takes on a device of which only the rates are known
// (data_sheets.h). README.md derives the formula.

#include "core/cost/data_sheets.h"
#include "core/kernels/kernel_spec.h"

namespace quotient::cost {

// The rates of a device, and the number of processors that kernels may use.
struct Roof {
  DeviceSheet sheet;
  double processors;
};

// The estimated time in microseconds, launch gap included.
double RooflineUs(const kernels::KernelSpec& spec, const Roof& roof);

}  // namespace quotient::cost
