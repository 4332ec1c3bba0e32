#pragma once

// What the process of a job does: it takes one request (runner.proto), serves it, and ends.

#include "core/os/message_channel.h"

namespace quotient::runner {

// Returns the process's exit status. If the other end goes away, the process ends at once, as by
// SIGTERM. The channel must live until the process ends.
int Serve(os::MessageChannel& channel);

}  // namespace quotient::runner
