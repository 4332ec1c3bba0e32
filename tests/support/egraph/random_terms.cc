#include "tests/support/egraph/random_terms.h"

#include <algorithm>

#include "absl/strings/str_cat.h"

namespace quotient::testing {
namespace {

std::string Pick(Rng& rng, const std::vector<std::string>& from) {
  return from[rng.Below(from.size())];
}

class RuleMaker {
 public:
  explicit RuleMaker(Rng& rng) : rng_(rng) {}

  std::string Make() {
    const bool two_roots = rng_.Below(3) == 0;
    std::string left = Apply(2);
    std::string right = Right(2);
    if (two_roots) {
      if (bound_.empty()) return RuleMaker(rng_).Make();
      // The second root contains a variable of the first.
      const std::string shared = Pick(rng_, bound_);
      const std::string op = Pick(rng_, {"g", "h"});
      const std::string inner = rng_.Below(2) == 0 ? shared : absl::StrCat("f(", shared, ")");
      const std::string other = Left(1);
      const bool first = rng_.Below(2) == 0;
      absl::StrAppend(&left, ", ", op, "(", first ? inner : other, ", ", first ? other : inner,
                      ")");
      absl::StrAppend(&right, ", ", Right(2));
    }
    std::string guard;
    if (bound_.size() >= 2 && rng_.Below(4) == 0) {
      guard = absl::StrCat(" if ", rng_.Below(2) == 0 ? "not " : "", "distinct(", bound_.front(),
                           ", ", bound_.back(), ")");
    }
    return absl::StrCat(left, " => ", right, guard);
  }

 private:
  std::string Variable() {
    std::string name = absl::StrCat("?", Pick(rng_, {"x", "y", "z"}));
    if (std::find(bound_.begin(), bound_.end(), name) == bound_.end()) bound_.push_back(name);
    return name;
  }

  std::string Left(int depth) {
    if (depth == 0 || rng_.Below(3) > 0) {
      return rng_.Below(6) == 0 ? Pick(rng_, {"a", "b", "c"}) : Variable();
    }
    return Apply(depth);
  }

  std::string Apply(int depth) {
    switch (rng_.Below(6)) {
      case 0:
        return absl::StrCat("f(", Left(depth - 1), ")");
      case 1:
        if (!list_) {
          list_ = true;
          return absl::StrCat("k(", Left(depth - 1), ", ?l...)");
        }
        [[fallthrough]];
      case 2:
        op_ = true;
        return absl::StrCat("p[?o](", Left(depth - 1), ")");
      case 3:
        return absl::StrCat("p", Pick(rng_, {"", "[0]"}), "(", Left(depth - 1), ")");
      default: {
        const std::string op = Pick(rng_, {"g", "h"});
        const std::string first =
            Left(depth - 1);  // The order in which arguments are evaluated is unspecified.
        return absl::StrCat(op, "(", first, ", ", Left(depth - 1), ")");
      }
    }
  }

  std::string Right(int depth) {
    if (depth == 0 || rng_.Below(3) == 0) {
      return bound_.empty() || rng_.Below(6) == 0 ? Pick(rng_, {"a", "b"}) : Pick(rng_, bound_);
    }
    if (list_ && rng_.Below(2) == 0) return Pick(rng_, {"k(?l...)", "k(f(?l)..., a)"});
    if (op_ && rng_.Below(2) == 0) return absl::StrCat("p[?o](", Right(depth - 1), ")");
    if (rng_.Below(2) == 0) return absl::StrCat("(f ", Right(depth - 1), ")");
    const std::string op = Pick(rng_, {"g", "h"});
    const std::string first = Right(depth - 1);
    return absl::StrCat(op, "(", first, ", ", Right(depth - 1), ")");
  }

  Rng& rng_;
  std::vector<std::string> bound_;
  bool list_ = false;
  bool op_ = false;
};

}  // namespace

RandomNode MakeRandomNode(Rng& rng, size_t num_made) {
  const auto child = [&] { return static_cast<size_t>(rng.Below(num_made)); };
  if (num_made == 0 || rng.Below(5) == 0) return {Pick(rng, {"a", "b", "c"}), {}};
  switch (rng.Below(5)) {
    case 0:
      return {"f", {child()}};
    case 1:
      return {Pick(rng, {"p[0]", "p[1]", "p[2]"}), {child()}};
    case 2: {
      RandomNode node = {"k", {}};
      for (uint64_t i = 1 + rng.Below(3); i > 0; --i) node.children.push_back(child());
      return node;
    }
    default: {
      const size_t first = child();
      return {Pick(rng, {"g", "h"}), {first, child()}};
    }
  }
}

std::string MakeRandomRule(Rng& rng) { return RuleMaker(rng).Make(); }

}  // namespace quotient::testing
