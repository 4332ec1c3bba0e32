#include "core/ops/polynomial.h"

#include <algorithm>
#include <cstddef>
#include <iterator>
#include <utility>

#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/string_view.h"
#include "absl/strings/strip.h"
#include "core/base/checked.h"

namespace quotient::ops {
namespace {

using model::Dim;

constexpr size_t kMostTerms = 8;  // Products of sums grow quickly.
constexpr int64_t kLargestCoefficient = int64_t{1} << 31;

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
  int64_t number;
  const bool is_plain = !absl::SimpleAtoi(symbol, &number) && symbol[0] != '(' &&
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
    const std::vector<absl::string_view> factors = SplitOutside(term, '*');
    int64_t coefficient;
    const bool has_number = absl::SimpleAtoi(factors[0], &coefficient);
    if (!has_number) coefficient = 1;
    Symbols symbols;
    for (size_t i = has_number; i < factors.size(); ++i) symbols.push_back(FromFactor(factors[i]));
    if (!result.AddTerm(symbols, coefficient)) return std::nullopt;
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
  return text.size() > kLongestSymbol ? Dim() : Dim::Symbol(text);
}

bool Polynomial::IsComputed(const Dim& dim) { return absl::StartsWith(dim.symbol(), Opening()); }

int64_t Polynomial::constant() const {
  const auto found = terms_.find({});
  return found == terms_.end() ? 0 : found->second;
}

std::optional<Polynomial> Polynomial::Plus(int64_t number) const {
  Polynomial sum = *this;
  if (!sum.AddTerm({}, number) || !sum.IsValid()) return std::nullopt;
  return sum;
}

std::optional<Polynomial> Polynomial::Sum(const Polynomial& other, int64_t sign) const {
  Polynomial sum = *this;
  for (const auto& [symbols, coefficient] : other.terms_) {
    if (!sum.AddTerm(symbols, sign * coefficient)) return std::nullopt;
  }
  return sum.IsValid() ? std::optional(std::move(sum)) : std::nullopt;
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

bool Polynomial::AddTerm(const Symbols& symbols, int64_t coefficient) {
  int64_t& sum = terms_[symbols];
  const std::optional<int64_t> added = CheckedAdd(sum, coefficient);
  if (!added) return false;
  sum = *added;
  if (sum == 0) terms_.erase(symbols);
  return true;
}

bool Polynomial::IsValid() const {
  return terms_.size() <= kMostTerms && std::ranges::all_of(terms_, [](const auto& term) {
           const auto& [symbols, coefficient] = term;
           return coefficient > 0 && (symbols.empty() || coefficient <= kLargestCoefficient);
         });
}

}  // namespace quotient::ops
