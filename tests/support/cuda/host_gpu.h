#pragma once

// An emulated GPU. Our own kernels run in the emulator, library kernels are computed by plain
// loops, and memory is on the host. Everything above the plug-in runs on it as on a real GPU.

#include <memory>

#include "core/kernels/cuda/interface/gpu.h"

namespace quotient::kernels::cuda {

// Makes an emulated GPU. Libraries have two plans for every problem: "exact", and "rounded", which
// is twice as fast and rounds float32 operands to TF32 first. By the GPU's clock a launch takes a
// microsecond, and half of that for "rounded". With `has_wrong_plans` there are two more, which
// leave outputs as they were.
//
// The steps of a replay run in a random order that lanes and dependencies allow, a different one in
// every replay.
std::unique_ptr<Gpu> NewHostGpu(bool has_wrong_plans = false);

}  // namespace quotient::kernels::cuda
