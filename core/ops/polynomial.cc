#include "core/ops/polynomial.h"

#include <algorithm>
#include <cstddef>
#include <iterator>
#include <utility>

#include "absl/strings/ascii.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/string_view.h"
#include "absl/strings/strip.h"
#include "core/base/checked.h"

namespace quotient::ops {
namespace {

using model::Dim;

// Every value that has the size copies its text, and products of sums grow quickly.
constexpr size_t kLongestText = 200;
constexpr size_t kMostTerms = 8;

// Whether parentheses close in the order in which they open.
bool IsBalanced(absl::string_view name) {
  int depth = 0;
  for (const char c : name) {
    if (c == '(') ++depth;
    if (c == ')' && --depth < 0) return false;
  }
  return depth == 0;
}

// Splits at a separator that is in no parentheses.
std::vector<absl::string_view> SplitOutside(absl::string_view text, char separator) {
  std::vector<absl::string_view> parts;
  int depth = 0;
  size_t begin = 0;
  for (size_t i = 0; i < text.size(); ++i) {
    if (text[i] == '(') ++depth;
    if (text[i] == ')') --depth;
    if (text[i] != separator || depth > 0) continue;
    parts.push_back(text.substr(begin, i - begin));
    begin = i + 1;
  }
  parts.push_back(text.substr(begin));
  return parts;
}

std::string Opening() { return absl::StrCat(model::kInferredSymbol, "("); }

// A symbol as a factor in a text, in parentheses if it would look like something else.
std::string ToFactor(const std::string& symbol) {
  const bool is_plain = !absl::ascii_isdigit(symbol[0]) && symbol[0] != '(' &&
                        SplitOutside(symbol, '+').size() == 1 &&
                        SplitOutside(symbol, '*').size() == 1;
  return is_plain ? symbol : absl::StrCat("(", symbol, ")");
}

std::string FromFactor(absl::string_view factor) {
  if (absl::ConsumePrefix(&factor, "(")) absl::ConsumeSuffix(&factor, ")");
  return std::string(factor);
}

}  // namespace

std::optional<Polynomial> Polynomial::Of(const Dim& dim) {
  if (dim.is_unknown()) return std::nullopt;
  Polynomial result;
  if (dim.is_number()) {
    result.AddTerm({}, dim.number());
    return result;
  }
  absl::string_view text = dim.symbol();
  if (!absl::ConsumePrefix(&text, Opening())) {
    if (!IsBalanced(text)) return std::nullopt;
    result.AddTerm({dim.symbol()}, 1);
    return result;
  }
  absl::ConsumeSuffix(&text, ")");
  for (const absl::string_view term : SplitOutside(text, '+')) {
    int64_t coefficient = 1;
    Symbols symbols;
    for (const absl::string_view factor : SplitOutside(term, '*')) {
      int64_t number;
      if (absl::SimpleAtoi(factor, &number)) {
        coefficient = number;
      } else {
        symbols.push_back(FromFactor(factor));
      }
    }
    result.AddTerm(symbols, coefficient);
  }
  return result.IsValid() ? std::optional(std::move(result)) : std::nullopt;
}

Dim Polynomial::ToDim() const {
  if (terms_.empty()) return 0;
  const auto& [symbols, coefficient] = *terms_.begin();
  if (terms_.size() == 1 && symbols.empty()) return coefficient;
  if (terms_.size() == 1 && symbols.size() == 1 && coefficient == 1) return Dim::Symbol(symbols[0]);
  const auto append = [](std::string* text, const auto& term) {
    const auto& [factors, number] = term;
    if (number != 1 || factors.empty()) absl::StrAppend(text, number, factors.empty() ? "" : "*");
    for (size_t i = 0; i < factors.size(); ++i) {
      absl::StrAppend(text, i > 0 ? "*" : "", ToFactor(factors[i]));
    }
  };
  std::string text =
      absl::StrCat(Opening(), absl::StrJoin(terms_.rbegin(), terms_.rend(), "+", append), ")");
  return text.size() > kLongestText ? Dim() : Dim::Symbol(text);
}

std::optional<Polynomial> Polynomial::Plus(const Polynomial& other) const {
  Polynomial sum = *this;
  for (const auto& [symbols, coefficient] : other.terms_) {
    if (!sum.AddTerm(symbols, coefficient)) return std::nullopt;
  }
  return sum.IsValid() ? std::optional(std::move(sum)) : std::nullopt;
}

std::optional<Polynomial> Polynomial::Plus(int64_t number) const {
  Polynomial sum = *this;
  if (!sum.AddTerm({}, number) || !sum.IsValid()) return std::nullopt;
  return sum;
}

std::optional<Polynomial> Polynomial::Minus(const Polynomial& other) const {
  Polynomial difference = *this;
  for (const auto& [symbols, coefficient] : other.terms_) {
    if (!difference.AddTerm(symbols, -coefficient)) return std::nullopt;
  }
  return difference.IsValid() ? std::optional(std::move(difference)) : std::nullopt;
}

std::optional<Polynomial> Polynomial::Times(const Polynomial& other) const {
  Polynomial product;
  for (const auto& [symbols, coefficient] : terms_) {
    for (const auto& [more, by] : other.terms_) {
      const std::optional<int64_t> number = CheckedMul(coefficient, by);
      Symbols all = symbols;
      all.insert(all.end(), more.begin(), more.end());
      std::ranges::sort(all);
      if (!number || !product.AddTerm(all, *number)) return std::nullopt;
    }
    if (!product.IsValid()) return std::nullopt;
  }
  return product;
}

std::optional<Polynomial> Polynomial::DividedBy(const Polynomial& other) const {
  if (other.terms_.size() != 1) return std::nullopt;
  const auto& [divisor, by] = *other.terms_.begin();
  Polynomial quotient;
  for (const auto& [symbols, coefficient] : terms_) {
    if (coefficient % by != 0 || !std::ranges::includes(symbols, divisor)) return std::nullopt;
    Symbols rest;
    std::ranges::set_difference(symbols, divisor, std::back_inserter(rest));
    quotient.AddTerm(rest, coefficient / by);
  }
  return quotient;
}

// Returns false if the coefficient overflows.
bool Polynomial::AddTerm(const Symbols& symbols, int64_t coefficient) {
  int64_t& sum = terms_[symbols];
  const std::optional<int64_t> added = CheckedAdd(sum, coefficient);
  if (!added) return false;
  sum = *added;
  if (sum == 0) terms_.erase(symbols);
  return true;
}

bool Polynomial::IsValid() const {
  return terms_.size() <= kMostTerms &&
         std::ranges::all_of(terms_, [](const auto& term) { return term.second > 0; });
}

}  // namespace quotient::ops
