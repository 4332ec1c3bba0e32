#pragma once

#include <string>

namespace quotient {

// The number in as few digits as tell it from all others, but six at least: "0.333333" is 0.333333
// and not 1/3. "nan", "inf", "-inf".
std::string NumberText(double number);

}  // namespace quotient
