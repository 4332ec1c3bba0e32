#include "core/ops/dims.h"

#include <algorithm>
#include <cstddef>
#include <optional>
#include <string>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "core/base/checked.h"
#include "core/base/status_macros.h"
#include "core/ops/polynomial.h"

namespace quotient::ops {
namespace {

using model::Dim;
using model::Shape;

Dim ToDim(const std::optional<Polynomial>& size) { return size ? size->ToDim() : Dim(); }

// A negative number is no size.
std::optional<Polynomial> PolynomialOf(const Element& element) {
  return Polynomial::Of(element.AsDim());
}

// Nullopt if one is unknown.
std::optional<Polynomial> ProductOf(std::span<const Dim> dims) {
  std::optional<Polynomial> product = Polynomial::Of(1);
  for (const Dim& dim : dims) {
    const std::optional<Polynomial> size = Polynomial::Of(dim);
    if (!size) return std::nullopt;
    product = product->Times(*size);
    if (!product) return std::nullopt;
  }
  return product;
}

// Removes each symbol that is in both from both.
void Cancel(std::vector<Dim>& dims, std::vector<Dim>& divisors) {
  std::erase_if(divisors, [&dims](const Dim& divisor) {
    const auto found = divisor.is_symbol() ? std::ranges::find(dims, divisor) : dims.end();
    if (found == dims.end()) return false;
    dims.erase(found);
    return true;
  });
}

}  // namespace

Dim AddDims(const Dim& a, const Dim& b) {
  if (a.Is(0)) return b;
  if (b.Is(0)) return a;
  const std::optional<Polynomial> x = Polynomial::Of(a);
  const std::optional<Polynomial> y = Polynomial::Of(b);
  return x && y ? ToDim(x->Plus(*y)) : Dim();
}

Dim MulDims(const Dim& a, const Dim& b) {
  if (a.Is(1) || b.Is(0)) return b;
  if (b.Is(1) || a.Is(0)) return a;
  const std::optional<Polynomial> x = Polynomial::Of(a);
  const std::optional<Polynomial> y = Polynomial::Of(b);
  return x && y ? ToDim(x->Times(*y)) : Dim();
}

Dim DivideDims(std::span<const Dim> dims, std::span<const Dim> divisors) {
  std::vector<Dim> above(dims.begin(), dims.end());
  std::vector<Dim> below(divisors.begin(), divisors.end());
  Cancel(above, below);
  if (below.empty() && above.size() == 1) return above[0];
  const std::optional<Polynomial> product = ProductOf(above);
  const std::optional<Polynomial> divisor = ProductOf(below);
  return product && divisor ? ToDim(product->DividedBy(*divisor)) : Dim();
}

Dim FloorDim(const Dim& dim, int64_t offset, int64_t divisor) {
  if (offset == 0 && divisor == 1) return dim;
  const std::optional<Polynomial> size = Polynomial::Of(dim);
  if (!size || !dim.is_symbol()) return Dim();
  // What the divisor divides comes out: floor((2 h + 3) / 2) = h + 1.
  const std::optional<Polynomial> symbols = size->Plus(-size->constant());
  const std::optional<int64_t> constant = CheckedAdd(size->constant(), offset);
  if (!constant) return Dim();
  const int64_t rest = (*constant % divisor + divisor) % divisor;
  const int64_t whole = (*constant - rest) / divisor;
  if (const auto quotient = symbols->DividedBy(*Polynomial::Of(divisor))) {
    if (const auto sum = quotient->Plus(whole)) return sum->ToDim();
  }
  // A polynomial has no negative terms, so they stay inside.
  if (whole > 0) return AddDims(FloorDim(symbols->ToDim(), rest, divisor), whole);
  const std::string name = symbols->ToDim().symbol();
  if (name.empty() || name.size() > kLongestSymbol) return Dim();
  return Dim::Symbol(absl::StrCat(model::kInferredSymbol, "floor((", name, *constant < 0 ? "" : "+",
                                  *constant, ")/", divisor, ")"));
}

Dim MinDim(const Dim& symbol, int64_t number) {
  if (number == 0) return 0;
  if (symbol.symbol().size() > kLongestSymbol) return Dim();
  return Dim::Symbol(
      absl::StrCat(model::kInferredSymbol, "min(", symbol.symbol(), ",", number, ")"));
}

absl::StatusOr<Shape> BroadcastShapes(const Shape& a, const Shape& b) {
  QUOTIENT_ASSIGN_OR_RETURN(Shape shape, model::Broadcast(a, b));
  const size_t common = std::min(a.size(), b.size());
  const auto is_min_of = [](const Dim& dim, const Dim& symbol) {
    return symbol.is_symbol() &&
           absl::StartsWith(dim.symbol(),
                            absl::StrCat(model::kInferredSymbol, "min(", symbol.symbol(), ","));
  };
  for (size_t i = 1; i <= common; ++i) {
    Dim& dim = shape[shape.size() - i];
    const Dim& x = a[a.size() - i];
    const Dim& y = b[b.size() - i];
    if (!dim.is_unknown()) continue;
    if (is_min_of(y, x)) dim = x;
    if (is_min_of(x, y)) dim = y;
  }
  return shape;
}

Element AddElements(const Element& a, const Element& b) {
  if (a.Is(0)) return b;
  if (b.Is(0)) return a;
  if (a.is_number() && b.is_number()) {
    const std::optional<int64_t> sum = CheckedAdd(a.number(), b.number());
    return sum ? Element(*sum) : Element();
  }
  if (a.is_number()) return AddElements(b, a);
  const std::optional<Polynomial> x = PolynomialOf(a);
  if (!x) return Element();
  if (b.is_number()) return Element(ToDim(x->Plus(b.number())));  // It may be negative.
  return Element(AddDims(a.AsDim(), b.AsDim()));
}

Element SubElements(const Element& a, const Element& b) {
  if (b.Is(0)) return a;
  if (a.is_number() && b.is_number()) {
    int64_t difference;
    const bool overflows = __builtin_sub_overflow(a.number(), b.number(), &difference);
    return overflows ? Element() : Element(difference);
  }
  if (a.is_symbol() && a == b) return 0;
  const std::optional<Polynomial> x = PolynomialOf(a);
  const std::optional<Polynomial> y = PolynomialOf(b);
  return x && y ? Element(ToDim(x->Minus(*y))) : Element();
}

Element MulElements(const Element& a, const Element& b) {
  if (a.Is(1) || b.Is(0)) return b;
  if (b.Is(1) || a.Is(0)) return a;
  if (a.is_number() && b.is_number()) {
    const std::optional<int64_t> product = CheckedMul(a.number(), b.number());
    return product ? Element(*product) : Element();
  }
  return Element(MulDims(a.AsDim(), b.AsDim()));
}

Element DivElements(const Element& a, const Element& b) {
  if (b.Is(1)) return a;
  if (b.Is(0) || b.Is(-1)) return Element();
  if (a.is_number() && b.is_number()) return a.number() / b.number();
  const std::optional<Polynomial> x = PolynomialOf(a);
  const std::optional<Polynomial> y = PolynomialOf(b);
  return x && y ? Element(ToDim(x->DividedBy(*y))) : Element();
}

}  // namespace quotient::ops
