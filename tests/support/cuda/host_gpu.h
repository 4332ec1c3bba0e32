#pragma once

// A GPU that does not exist: kernels of ours are emulated, those of libraries computed by plain
// loops, memory is the host's. Everything above the plug-in runs on it as on a real one.

#include <memory>

#include "core/kernels/cuda/gpu.h"

namespace quotient::kernels::cuda {

// Two plans for everything that libraries do: "exact", and "rounded", which is twice as fast and
// rounds float32 operands to TF32 first. A launch takes a microsecond by its clock, a rounded one
// half.
//
// Steps of a replay run in a random order among those that lanes and dependencies allow, another
// one every time.
//
// With `has_wrong_plan` there is a third one, the fastest of all, that computes nonsense.
std::unique_ptr<Gpu> NewHostGpu(bool has_wrong_plan = false);

}  // namespace quotient::kernels::cuda
