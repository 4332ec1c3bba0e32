#pragma once

#include <cstdint>
#include <string>
#include <variant>

namespace quotient {

// The number in as few digits as tell it from all others, but six at least: "0.333333" is 0.333333
// and not 1/3. "nan", "inf", "-inf".
std::string NumberText(double number);

// An element of a tensor, exactly: not every integer of 64 bits is a double.
using Number = std::variant<double, int64_t, uint64_t>;

// Integers in all digits.
std::string NumberText(const Number& number);

}  // namespace quotient
