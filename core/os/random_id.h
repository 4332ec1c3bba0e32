#pragma once

#include <string>

namespace quotient::os {

// 20 lower-case hexadecimal digits that nobody can guess, from the kernel. Thread-safe.
std::string RandomId();

}  // namespace quotient::os
