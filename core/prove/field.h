#pragma once

// Arithmetic modulo a prime. An equation between polynomials with rational coefficients that holds
// for random field elements holds identically, but for a chance of degree / prime (Schwartz and
// Zippel): there is no rounding, and no element is special. Every finite float is a rational number
// whose denominator is a power of two, so it has an exact image.

#include <cmath>
#include <cstdint>
#include <optional>

namespace quotient::prove {

// In [0, kPrime).
using Element = uint64_t;

// 2^61 - 31. (Modulo the Mersenne prime 2^61 - 1, 2^61 would be 1.)
inline constexpr Element kPrime = (Element{1} << 61) - 31;

inline Element Add(Element a, Element b) { return (a + b) % kPrime; }
inline Element Subtract(Element a, Element b) { return (a + kPrime - b) % kPrime; }
inline Element Multiply(Element a, Element b) {
  return static_cast<Element>(static_cast<unsigned __int128>(a) * b % kPrime);
}

inline Element Power(Element base, uint64_t exponent) {
  Element power = 1;
  for (; exponent != 0; exponent >>= 1) {
    if ((exponent & 1) != 0) power = Multiply(power, base);
    base = Multiply(base, base);
  }
  return power;
}

// Nullopt for 0.
inline std::optional<Element> Inverse(Element a) {
  if (a == 0) return std::nullopt;
  return Power(a, kPrime - 2);
}

inline Element FromInteger(int64_t integer) {
  const auto bits = static_cast<uint64_t>(integer);
  return integer < 0 ? Subtract(0, (0 - bits) % kPrime) : bits % kPrime;
}

// The image of a float; nullopt for infinities and NaN.
inline std::optional<Element> FromFloat(double number) {
  if (!std::isfinite(number)) return std::nullopt;
  constexpr int kDigits = 53;
  int exponent;
  const auto digits = static_cast<int64_t>(std::ldexp(std::frexp(number, &exponent), kDigits));
  exponent -= kDigits;
  const Element scale = Power(2, static_cast<uint64_t>(std::abs(exponent)));
  return Multiply(FromInteger(digits), exponent < 0 ? *Inverse(scale) : scale);
}

// The integer of least size with this image, for elements that stand for integers.
inline int64_t ToInteger(Element a) {
  return a > kPrime / 2 ? -static_cast<int64_t>(kPrime - a) : static_cast<int64_t>(a);
}

}  // namespace quotient::prove
