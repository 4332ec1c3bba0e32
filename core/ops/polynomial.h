#pragma once

// A polynomial in the symbols of a graph, with positive integers for coefficients: what a size is
// that was computed from other sizes, 2*batch*sequence + past. Two sizes that are the same
// polynomial are the same number, whatever the symbols stand for. So inference gives them one
// symbol, the canonical text of the polynomial, and who asks whether two sizes are the same only
// has to compare symbols.

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "core/model/shape.h"

namespace quotient::ops {

class Polynomial {
 public:
  // Nullopt if the size is not known, or if it is a symbol whose name has lone parentheses.
  static std::optional<Polynomial> Of(const model::Dim& dim);
  // A number, a symbol of the graph, or a new symbol such as "?(2*batch*sequence+past)". Unknown if
  // that were too long.
  model::Dim ToDim() const;

  // These return nullopt if the result is no polynomial with coefficients that are positive and
  // below 2^63.
  std::optional<Polynomial> Plus(const Polynomial& other) const;
  std::optional<Polynomial> Plus(int64_t number) const;
  std::optional<Polynomial> Minus(const Polynomial& other) const;
  std::optional<Polynomial> Times(const Polynomial& other) const;
  // Exact division by one term, which is not zero.
  std::optional<Polynomial> DividedBy(const Polynomial& other) const;

  friend bool operator==(const Polynomial&, const Polynomial&) = default;

 private:
  // The symbols of a product, sorted. Empty for a number.
  using Symbols = std::vector<std::string>;

  bool AddTerm(const Symbols& symbols, int64_t coefficient);
  bool IsValid() const;

  std::map<Symbols, int64_t> terms_;  // Without zeros.
};

}  // namespace quotient::ops
