#include "core/journal/same_enodes.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "absl/status/status.h"
#include "tests/core/journal/recorded_search.h"
#include "tests/support/status_matchers.h"

namespace quotient::journal {
namespace {

using egraph::ENodeId;

constexpr char kGraph[] = R"(graph g {
  input x: float32[2,4]
  a = Neg(x)
  b = Abs(a)
  c = Neg(b)
  d = Neg(c)
  output d
})";
constexpr char kRules[] = R"(
neg-neg: Neg(Neg(?x)) => ?x
abs-neg: Abs(Neg(?x)) => Abs(?x)
abs-max: Abs(?x) => Max(?x, Neg(?x))
)";

class SameENodesTest : public ::testing::Test {
 protected:
  // As the table is borrowed, it is made when the first e-graph has grown.
  SameENodes Begin() {
    table_ = AsAdded(from_.egraph());
    return SameENodes(table_, *from_.tensors().domain, to_.tensors(), originals_);
  }

  RecordedSearch from_{kGraph, kRules}, to_{kGraph, kRules};
  const uint32_t originals_ = from_.egraph().enode_bound();
  ENodeTable table_;
};

TEST_F(SameENodesTest, ENodesOfTheModelAreTheSame) {
  SameENodes same = Begin();
  for (uint32_t i = 0; i < originals_; ++i) {
    ASSERT_OK_AND_ASSIGN(const ENodeId found, same.Find(ENodeId(i)));
    EXPECT_EQ(found, ENodeId(i));
  }
}

TEST_F(SameENodesTest, ENodesAreFoundInWhateverOrderTheyWereMade) {
  const egraph::Match of_b = from_.MatchesOf("abs-max").at(0);
  ASSERT_TRUE(from_.Apply("abs-max", of_b));
  const uint32_t max_end = from_.egraph().enode_bound();
  ASSERT_TRUE(from_.Apply("abs-neg"));
  const ENodeId abs_x(max_end);
  ASSERT_TRUE(to_.Apply("abs-neg"));
  {
    SameENodes same = Begin();
    ASSERT_OK_AND_ASSIGN(const ENodeId found, same.Find(abs_x));
    EXPECT_EQ(found, ENodeId(originals_)) << "made first there";
    // Not made there.
    EXPECT_EQ(same.Find(ENodeId(max_end - 1)).status().code(), absl::StatusCode::kNotFound);
    EXPECT_EQ(same.FindMatch(from_.rule("abs-max"),
                             {.classes = {egraph::ClassId(max_end - 1)}, .ops = {}})
                  .status()
                  .code(),
              absl::StatusCode::kNotFound);
  }
  ASSERT_TRUE(to_.Apply("abs-max", of_b));
  SameENodes same = Begin();
  ASSERT_OK_AND_ASSIGN(const ENodeId found, same.Find(ENodeId(max_end - 1)));
  EXPECT_EQ(to_.tensors().domain->word(to_.egraph().node(found).op).name, "Max");
}

// c and d are Neg(b) and Neg(Neg(b)). When d equals b, Neg(d) is a duplicate of c.
TEST_F(SameENodesTest, ADuplicateIsFoundByWhatIsLive) {
  ASSERT_TRUE(to_.Apply("neg-neg"));
  const ENodeId d = to_.ENodeOf("d"), b = to_.ENodeOf("b");
  ASSERT_EQ(to_.egraph().class_of(d), to_.egraph().class_of(b));
  SameENodes same = Begin();
  for (uint32_t i = 0; i < originals_; ++i) {
    ASSERT_OK_AND_ASSIGN(const ENodeId found, same.FindLive(ENodeId(i)));
    EXPECT_TRUE(to_.egraph().live(found));
    EXPECT_EQ(to_.egraph().class_of(found), to_.egraph().class_of(ENodeId(i)));
  }
}

}  // namespace
}  // namespace quotient::journal
