#pragma once

// The OpenMP runtime that kernels run on reads its environment once, when the program is loaded,
// before main. So a program that measures sets what is missing and starts itself again.

#include "core/os/environment.h"

namespace quotient::os {

// First thing in main(). Returns at once if `environment`, the process's, is as it should be, else
// replaces the process by itself (same process id). What the user has set is left alone.
void EnsureOpenMpEnvironment(char** argv, const Environment& environment);

}  // namespace quotient::os
