#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>

#include "core/extract/extract.h"
#include "tests/support/egraph/extraction_case.h"

namespace quotient::extract {
namespace {

using ::quotient::testing::ExtractionCase;
using ::testing::HasSubstr;

// Class 2 = f(0, 1) or g(2); class 1 = h(0) of cost 2; class 0 a leaf of cost 1.
class CheckTest : public ::testing::Test {
 protected:
  CheckTest()
      : example_(3, {{0, 1, {}}, {1, 2, {0}}, {2, 4, {0, 1}}, {2, 0, {2}}}, {2}),
        selection_(*FindExtractor("tree")->Extract(example_.problem(), {})) {}

  ENodeId& choice(size_t case_class) { return selection_.choice[example_.id(case_class).value()]; }
  // The i-th e-node of the case; those before it stand for its classes.
  static ENodeId Node(uint32_t i) { return ENodeId(3 + i); }
  std::string Error() {
    return std::string(CheckSelection(example_.problem(), selection_).status().message());
  }

  const ExtractionCase example_;
  Selection selection_;
};

TEST_F(CheckTest, GoodSelectionsCostWhatTheirClassesCostOnce) {
  const absl::StatusOr<double> cost = CheckSelection(example_.problem(), selection_);
  ASSERT_TRUE(cost.ok()) << cost.status();
  EXPECT_EQ(*cost, 7);
  EXPECT_EQ(selection_.cost, 7);
}

TEST_F(CheckTest, ACycleIsFound) {
  choice(2) = Node(3);
  EXPECT_THAT(Error(), HasSubstr("is on a cycle"));
}

TEST_F(CheckTest, AMissingChoiceIsFound) {
  choice(1) = ENodeId();
  EXPECT_THAT(Error(), HasSubstr("has no choice"));
}

TEST_F(CheckTest, AnotherClassesENodeIsFound) {
  choice(1) = Node(0);
  EXPECT_THAT(Error(), HasSubstr("another class's e-node"));
}

TEST_F(CheckTest, AnENodeThatDoesNotExistIsFound) {
  choice(1) = ENodeId(1000);
  EXPECT_THAT(Error(), HasSubstr("chose no e-node"));
}

TEST_F(CheckTest, InfiniteCostIsFound) {
  choice(1) = ENodeId(1);  // what stands for the class
  EXPECT_THAT(Error(), HasSubstr("infinite cost"));
}

TEST_F(CheckTest, TheWrongNumberOfClassesIsFound) {
  selection_.choice.pop_back();
  EXPECT_THAT(Error(), HasSubstr("wrong number of classes"));
}

TEST_F(CheckTest, ClassesThatAreNotNeededMayChooseNothing) {
  const ExtractionCase other(2, {{0, 1, {}}, {1, 1, {}}}, {0});
  const Selection selection = *FindExtractor("dag")->Extract(other.problem(), {});
  EXPECT_FALSE(selection.of(other.id(1)).valid());
  EXPECT_TRUE(CheckSelection(other.problem(), selection).ok());
}

}  // namespace
}  // namespace quotient::extract
