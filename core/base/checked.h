#pragma once

// Arithmetic on sizes from untrusted bytes. Returns nullopt instead of a wrapped result.

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

// The product of all factors, 1 for none. Returns nullopt if a factor is negative or the product
// overflows; if no factor is negative, a zero factor makes the product 0.
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
