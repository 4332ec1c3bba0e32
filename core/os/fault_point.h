#pragma once

// Named places at which a test ends, stops or slows the process, to see what it leaves behind. The
// programs that users run have them, too, and pass them by.
//
// The variable QUOTIENT_FAULT chooses one: "NAME[@N]:ACTION:FILE", where ACTION is kill (SIGKILL),
// stop (SIGSTOP) or sleep=MILLISECONDS. It happens when the place is reached for the Nth time (the
// first one by default), and only if nothing has been written to FILE, to which a line is written
// then: once among all processes that are started with the variable.

#include "absl/status/status.h"
#include "absl/strings/string_view.h"

namespace quotient::os {

// The variable's name.
inline constexpr char kFaultVariable[] = "QUOTIENT_FAULT";

// Chooses a fault by the variable's value; "" is none. Returns INVALID_ARGUMENT if the value is not
// understood, and STORAGE_DOWN if the file cannot be opened. Must be called before there are other
// threads, once at most.
absl::Status ChooseFault(absl::string_view value);

// A place; names are words with dots, from the folder or the act to the moment. Thread-safe.
void FaultPoint(absl::string_view name);

}  // namespace quotient::os
