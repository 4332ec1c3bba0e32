#pragma once

// What every program of ours does around its main function, so that it never ends without a word.

#include "absl/functional/function_ref.h"

namespace quotient::os {

// How a program ends by an exception that nothing has caught.
struct FailureStatus {
  int other;
  int out_of_memory;
};

// Calls `run` and returns its result, or the status above, after a line on standard error that
// begins with `program`, if it throws: memory or threads have run out, or there is a bug. An
// exception that leaves another thread ends the process at once in the same way, and so does a
// library that calls exit() meanwhile; it has said why. A write beyond the limit on the size of
// files fails with EFBIG instead of ending the process. To be called once, at the beginning of
// main. `program` must outlive the process.
int GuardedMain(const char* program, FailureStatus status, absl::FunctionRef<int()> run);

}  // namespace quotient::os
