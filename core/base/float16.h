#pragma once

// Conversions between float, double and the 16-bit formats. They round half to even; NaN stays NaN.

#include <bit>
#include <cmath>
#include <cstdint>

namespace quotient {

inline uint16_t FloatToBfloat16(float value) {
  const uint32_t bits = std::bit_cast<uint32_t>(value);
  if ((bits & 0x7fffffffu) > 0x7f800000u) return static_cast<uint16_t>((bits >> 16) | 0x40u);
  return static_cast<uint16_t>((bits + 0x7fffu + ((bits >> 16) & 1u)) >> 16);
}

inline float Bfloat16ToFloat(uint16_t value) {
  return std::bit_cast<float>(static_cast<uint32_t>(value) << 16);
}

inline float Float16ToFloat(uint16_t value) {
  const uint32_t sign = static_cast<uint32_t>(value & 0x8000u) << 16;
  const uint32_t exponent = (value >> 10) & 0x1fu;
  const uint32_t mantissa = value & 0x3ffu;
  if (exponent == 0x1f) return std::bit_cast<float>(sign | 0x7f800000u | (mantissa << 13));
  if (exponent != 0) {
    return std::bit_cast<float>(sign | ((exponent + 112) << 23) | (mantissa << 13));
  }
  const float magnitude =
      static_cast<float>(mantissa) * 0x1.0p-24f;  // Exact for zero and subnormals.
  return std::bit_cast<float>(std::bit_cast<uint32_t>(magnitude) | sign);
}

inline uint16_t FloatToFloat16(float value) {
  const uint32_t bits = std::bit_cast<uint32_t>(value);
  const uint16_t sign = static_cast<uint16_t>((bits >> 16) & 0x8000u);
  const uint32_t magnitude = bits & 0x7fffffffu;
  if (magnitude > 0x7f800000u)
    return static_cast<uint16_t>(sign | 0x7e00u | ((bits >> 13) & 0x3ffu));
  if (magnitude >= 0x477ff000u) return static_cast<uint16_t>(sign | 0x7c00u);  // Rounds past 65504.
  if (magnitude < 0x38800000u) {  // Below 2^-14 the addition rounds to multiples of 2^-24.
    const float rounded = std::bit_cast<float>(magnitude) + 0.5f;
    return static_cast<uint16_t>(sign | (std::bit_cast<uint32_t>(rounded) - 0x3f000000u));
  }
  const uint32_t odd = (magnitude >> 13) & 1u;
  return static_cast<uint16_t>(sign | ((magnitude + 0xfffu + odd - 0x38000000u) >> 13));
}

// Rounds to odd: returns the float equal to `value`, or else the neighbour whose last bit is set.
// Rounding the result again, to a format of at most 22 bits, is the same as rounding `value` once.
// The nearest float would not do, because it may lie exactly half-way between two numbers of that
// format.
inline float DoubleToFloatByOdd(double value) {
  const float nearest = static_cast<float>(value);
  const uint32_t bits = std::bit_cast<uint32_t>(nearest);
  if (static_cast<double>(nearest) == value || std::isnan(value) || (bits & 1u) != 0) {
    return nearest;
  }
  const bool is_beyond = std::fabs(static_cast<double>(nearest)) > std::fabs(value);
  return std::bit_cast<float>(is_beyond ? bits - 1 : bits + 1);
}

inline uint16_t DoubleToFloat16(double value) { return FloatToFloat16(DoubleToFloatByOdd(value)); }
inline uint16_t DoubleToBfloat16(double value) {
  return FloatToBfloat16(DoubleToFloatByOdd(value));
}

}  // namespace quotient
