#pragma once

// Counts the inputs that a target has taken for what it expects, so that it can be seen how many
// come that far, and whether the corpus still does.

#include <cstdint>

namespace quotient::testing {

inline uint64_t understood_inputs = 0;

// To be called at most once for each input.
inline void NoteUnderstood() { ++understood_inputs; }

}  // namespace quotient::testing

// By this the main() of a program without libFuzzer finds the count, if its target has one.
extern "C" __attribute__((weak)) uint64_t QuotientUnderstoodInputs() {
  return quotient::testing::understood_inputs;
}
