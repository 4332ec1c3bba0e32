#pragma once

// The server: its parts, which are created and connected here, from the start to the end.

#include <signal.h>

#include "absl/status/status.h"
#include "server/config/flags.h"

namespace quotient {

// Serves until one of the signals comes, which must be blocked in all threads, or until the process
// has to be started anew, and drains. Fails with what keeps the server from its work.
absl::Status Serve(const config::ServerFlags& flags, const sigset_t& signals);

}  // namespace quotient
