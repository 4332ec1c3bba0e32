#pragma once

// A polynomial in the symbols of a graph, with positive integers for coefficients: what a size is
// that was computed from other sizes, past + 2*batch*sequence. Two sizes that are the same
// polynomial are the same number, whatever the symbols stand for. So inference gives them one
// symbol, the canonical text of the polynomial, and who asks whether two sizes are the same only
// has to compare symbols.

#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "core/model/shape.h"

namespace quotient::ops {

// Inference makes no polynomial whose text is longer than this, and no other symbol of one that is.
// Every value that has the size copies its symbol, and a chain of windows or slices would give each
// of them one as long as the chain.
inline constexpr size_t kLongestSymbol = 200;

class Polynomial {
 public:
  // Nullopt if the size is not known, or if it is a symbol whose name has lone parentheses.
  static std::optional<Polynomial> Of(const model::Dim& dim);
  // A number, a symbol of the graph, or a new symbol such as "?(past+2*batch*sequence+1)", whose
  // terms are in descending order. Unknown if that were too long.
  model::Dim ToDim() const;
  // Whether the dimension is a new symbol of ToDim.
  static bool IsComputed(const model::Dim& dim);

  int64_t constant() const;  // The term without symbols.

  // These return nullopt if the result has a coefficient that is not positive, or one of symbols
  // that is above 2^31: sizes of tensors are far from overflowing when such a polynomial is
  // computed in int64.
  std::optional<Polynomial> Plus(const Polynomial& other) const { return Sum(other, 1); }
  std::optional<Polynomial> Minus(const Polynomial& other) const { return Sum(other, -1); }
  std::optional<Polynomial> Plus(int64_t number) const;  // May be negative.
  std::optional<Polynomial> Times(const Polynomial& other) const;
  // Exact division by one term, which is not zero.
  std::optional<Polynomial> DividedBy(const Polynomial& other) const;

  friend bool operator==(const Polynomial&, const Polynomial&) = default;

 private:
  // The symbols of a product, sorted. Empty for a number.
  using Symbols = std::vector<std::string>;

  std::optional<Polynomial> Sum(const Polynomial& other, int64_t sign) const;
  // Returns false if the coefficient overflows.
  bool AddTerm(const Symbols& symbols, int64_t coefficient);
  bool IsValid() const;

  std::map<Symbols, int64_t> terms_;  // Without zeros.
};

}  // namespace quotient::ops
