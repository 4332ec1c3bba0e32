#pragma once

// ThreeRewrites: a recorded search with a rewrite that another one needs, and one that none does.

#include "tests/core/journal/recorded_search.h"

namespace quotient::journal {

// Rewrite 0 is neg-neg, which has nothing to do with the others. Rewrite 1 is abs-neg, which makes
// Abs(x), and rewrite 2 is abs-max, which makes something more of that.
class ThreeRewrites : public RecordedSearch {
 public:
  ThreeRewrites() : RecordedSearch(kGraph, kRules) {
    if (!Apply("neg-neg") || !Apply("abs-neg")) std::abort();
    for (const egraph::Match& match : MatchesOf("abs-max")) {
      if (match.classes[1] == egraph().class_of(ENodeOf("x"))) Apply("abs-max", match);
    }
  }

 private:
  static constexpr char kGraph[] = R"(graph g {
  input x: float32[2,4]
  input y: float32[2,4]
  a = Neg(x)
  b = Abs(a)
  c = Neg(y)
  d = Neg(c)
  output b, d
})";
  static constexpr char kRules[] = R"(
neg-neg: Neg(Neg(?x)) => ?x
abs-neg: Abs(Neg(?x)) => Abs(?x)
abs-max: Abs(?x) => Max(?x, Neg(?x))
)";
};

}  // namespace quotient::journal
