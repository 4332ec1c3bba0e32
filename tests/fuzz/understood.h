#pragma once

// Counts the inputs that a target has taken for what it expects, so that it can be seen how many
// mutations come that far. mutation_main.cc prints the number.

#include <cstdint>

namespace quotient::testing {

inline uint64_t understood_inputs = 0;

// To be called at most once for each input.
inline void NoteUnderstood() { ++understood_inputs; }

}  // namespace quotient::testing
