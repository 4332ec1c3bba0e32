#pragma once

// Arithmetic on sizes that come from untrusted bytes: nothing instead of a wrapped result.

#include <cstdint>
#include <optional>
#include <span>

namespace quotient {

inline std::optional<int64_t> CheckedAdd(int64_t a, int64_t b) {
  int64_t sum;
  if (__builtin_add_overflow(a, b, &sum)) return std::nullopt;
  return sum;
}

inline std::optional<int64_t> CheckedMul(int64_t a, int64_t b) {
  int64_t product;
  if (__builtin_mul_overflow(a, b, &product)) return std::nullopt;
  return product;
}

// The product of all factors, 1 for none. Nothing if a factor is negative or the product overflows;
// a zero factor makes the product 0 whatever the others are.
inline std::optional<int64_t> CheckedProduct(std::span<const int64_t> factors) {
  bool zero = false;
  for (int64_t factor : factors) {
    if (factor < 0) return std::nullopt;
    zero |= factor == 0;
  }
  if (zero) return 0;
  int64_t product = 1;
  for (int64_t factor : factors) {
    if (__builtin_mul_overflow(product, factor, &product)) return std::nullopt;
  }
  return product;
}

}  // namespace quotient
