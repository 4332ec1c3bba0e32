#pragma once

// What the helper process does with memory that models have given back.

namespace quotient::kernels::onnxruntime {

// Keeps such memory for the next model, up to a bound. Most of the time that loading takes goes
// into pages that the system clears, and on virtual machines has to find first. Called once.
void KeepFreedMemory();

// While one exists, large blocks are returned as soon as they are freed. For loading whole models,
// whose weights exist in several forms meanwhile.
class ReturningLargeBlocks {
 public:
  ReturningLargeBlocks();
  ~ReturningLargeBlocks();
  ReturningLargeBlocks(const ReturningLargeBlocks&) = delete;
};

// Returns what is beyond the bound to the system. Called when a model has ended, and when one was
// loaded or has run for the first time, which takes more than what it keeps.
void ReturnMemory();

}  // namespace quotient::kernels::onnxruntime
