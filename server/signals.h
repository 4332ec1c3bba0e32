#pragma once

// The signals that tell quotientd to end.

#include <signal.h>

namespace quotient {

// Blocks SIGTERM and SIGINT in all threads, so that WaitForSignal can receive them. Must be called
// before any thread is started.
sigset_t BlockSignals();

// Returns the signal's number.
int WaitForSignal(const sigset_t& signals);

}  // namespace quotient
