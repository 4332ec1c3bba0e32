#pragma once

// What the helper process does with memory that models have given back.

namespace quotient::kernels::onnxruntime {

// Keeps such memory for the next model, up to a bound. Most of the time that loading takes goes
// into pages that the system clears, and on virtual machines has to find first. Called once.
void KeepFreedMemory();

// Returns what is beyond the bound to the system. Called when a model has ended.
void ReturnMemory();

}  // namespace quotient::kernels::onnxruntime
