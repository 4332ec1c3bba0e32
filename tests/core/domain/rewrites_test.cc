#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/core/domain/choices.h"

namespace quotient::domain {
namespace {

using ::testing::ElementsAre;

TEST(RewritesOf, TellsSiteBeforeAndAfter) {
  TensorEGraph tensors = Imported(Parsed(R"(graph g {
    input x: float32[2,3]
    const w: float32[3,4] = random(1)
    const s: float32[4] = [1, 2, 3, 4]
    a = MatMul(x, w) @product
    b = Mul(a, s) @scale
    c = Relu(b) @relu
    output c
  })"));
  // b = x (w s), as a rule would say it.
  const ClassId operands[] = {ClassNamed(tensors, "w"), ClassNamed(tensors, "s")};
  ASSERT_OK_AND_ASSIGN(const ClassId scaled,
                       tensors.domain->Add(*tensors.egraph, "Mul", {}, operands, 7));
  const ClassId factors[] = {ClassNamed(tensors, "x"), scaled};
  ASSERT_OK_AND_ASSIGN(const ClassId product,
                       tensors.domain->Add(*tensors.egraph, "MatMul", {}, factors, 7));
  ASSERT_OK(tensors.egraph->Union(ClassNamed(tensors, "b"), product, 7));
  ASSERT_OK(tensors.egraph->Rebuild());

  EXPECT_TRUE(RewritesOf(tensors, Choose(tensors, false)).empty());
  const std::vector<Rewrite> rewrites = RewritesOf(tensors, Choose(tensors, true));
  ASSERT_EQ(rewrites.size(), 1) << "what one rule made together is one rewrite";
  EXPECT_EQ(rewrites[0].origin, 7);
  EXPECT_EQ(rewrites[0].site, "scale");
  EXPECT_EQ(rewrites[0].before, "Mul(a, s)");
  EXPECT_EQ(rewrites[0].after, "MatMul(x, Mul(w, s))");
  EXPECT_THAT(rewrites[0].steps, ElementsAre(7));
  EXPECT_THAT(rewrites[0].classes,
              ElementsAre(ClassNamed(tensors, "b"), tensors.egraph->Find(scaled)));
}

TEST(RewritesOf, SeveralRulesAreSeveralRewrites) {
  TensorEGraph tensors = Imported(Parsed(R"(graph g {
    input x: float32[2]
    a = Relu(x) @first
    b = Tanh(a) @second
    output b
  })"));
  const ClassId x[] = {ClassNamed(tensors, "x")};
  ASSERT_OK_AND_ASSIGN(const ClassId abs, tensors.domain->Add(*tensors.egraph, "Abs", {}, x, 1));
  ASSERT_OK(tensors.egraph->Union(ClassNamed(tensors, "a"), abs, 1));
  const ClassId a[] = {abs};
  ASSERT_OK_AND_ASSIGN(const ClassId erf, tensors.domain->Add(*tensors.egraph, "Erf", {}, a, 2));
  ASSERT_OK(tensors.egraph->Union(ClassNamed(tensors, "b"), erf, 2));
  ASSERT_OK(tensors.egraph->Rebuild());
  const std::vector<Rewrite> rewrites = RewritesOf(tensors, Choose(tensors, true));
  ASSERT_EQ(rewrites.size(), 2);
  EXPECT_EQ(rewrites[0].site, "first");
  EXPECT_EQ(rewrites[0].after, "Abs(x)");
  EXPECT_EQ(rewrites[1].site, "second");
  EXPECT_EQ(rewrites[1].after, "Erf(a)");
  EXPECT_THAT(rewrites[0].steps, ElementsAre(1));
  EXPECT_THAT(rewrites[1].steps, ElementsAre(2));
}

// Nothing is computed in a new way, but a node is gone.
TEST(RewritesOf, TellsOfANodeThatVanished) {
  TensorEGraph tensors = Imported(Parsed(R"(graph g {
    input x: float32[2]
    a = Relu(x) @first
    b = Relu(a) @second
    c = Relu(b) @third
    d = Tanh(c) @last
    output d
  })"));
  ASSERT_OK(tensors.egraph->Union(ClassNamed(tensors, "b"), ClassNamed(tensors, "a"), 3));
  ASSERT_OK(tensors.egraph->Rebuild());  // so c = b by congruence
  const std::vector<Rewrite> rewrites = RewritesOf(tensors, Choose(tensors, false));
  ASSERT_EQ(rewrites.size(), 1);
  EXPECT_EQ(rewrites[0].origin, 3);
  EXPECT_EQ(rewrites[0].site, "second");
  EXPECT_EQ(rewrites[0].before, "Relu(a)");
  EXPECT_EQ(rewrites[0].after, "a");
  EXPECT_THAT(rewrites[0].steps, ElementsAre(3));
}

TEST(RewritesOf, AnOutputThatIsNamedByAnIdentityIsNoRewrite) {
  TensorEGraph tensors = Imported(Parsed(R"(graph g {
    input x: float32[2]
    a = Relu(x)
    b = Identity(a)
    output a, b
  })"));
  ASSERT_OK(tensors.egraph->Union(ClassNamed(tensors, "b"), ClassNamed(tensors, "a"), 3));
  ASSERT_OK(tensors.egraph->Rebuild());
  EXPECT_TRUE(RewritesOf(tensors, Choose(tensors, false)).empty());
}

}  // namespace
}  // namespace quotient::domain
