#pragma once

// What the process of a job does: it takes one request (runner.proto), serves it, and ends.

#include "core/os/message_channel.h"

namespace quotient::runner {

// Returns the process's exit status. If the other end goes away, the process ends at once.
int Serve(os::MessageChannel& channel);

}  // namespace quotient::runner
