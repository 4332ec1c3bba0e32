#include "core/ops/einsum.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/core/ops/one_node.h"

namespace quotient::ops {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using testing::Inferred;
using testing::TypeOf;
using testing::ValuesOf;

TEST(EinsumTest, SumsOverWhatTheOutputLacks) {
  constexpr char kFactors[] = R"(
      const a: float32[2,3] = [1, 2, 3, 4, 5, 6]
      const b: float32[3,2] = [1, 10, 100, 1000, 10000, 100000]
      )";
  const auto values = [&](const char* equation) {
    return ValuesOf(absl::StrCat(kFactors, "y = Einsum(a, b) {equation=\"", equation, "\"}"));
  };
  EXPECT_THAT(values("ij,jk->ik"), ElementsAre(30201, 302010, 60504, 605040));
  EXPECT_THAT(values("ij,jk->ki"), ElementsAre(30201, 60504, 302010, 605040));
  EXPECT_THAT(values("ij , jk"), ElementsAre(30201, 302010, 60504, 605040));
  // The labels of one operand may be summed by themselves.
  EXPECT_THAT(values("ij,kl->i"), ElementsAre(6 * 111111, 15 * 111111));
  EXPECT_THAT(values("ij,ji->"), ElementsAre(30201 + 605040));
  EXPECT_THAT(values("ij,jk->jik"),
              ElementsAre(1, 10, 4, 40, 200, 2000, 500, 5000, 30000, 300000, 60000, 600000));
}

TEST(EinsumTest, SizesOfOneAreBroadcast) {
  EXPECT_THAT(ValuesOf(R"(const a: float32[1,2] = [1, 2]
                          const b: float32[3,2] = [1, 2, 3, 4, 5, 6]
                          y = Einsum(a, b) {equation="ij,ij->ij"})"),
              ElementsAre(1, 4, 3, 8, 5, 12));
}

TEST(EinsumTest, IntegersAreExact) {
  EXPECT_THAT(ValuesOf(R"(const a: int64[2] = [9007199254740993, 1]
                          const b: int64[2] = [1, -9007199254740992]
                          y = Einsum(a, b) {equation="i,i->"})"),
              ElementsAre(1));
}

TEST(EinsumTest, SizesFollowFromLabels) {
  EXPECT_EQ(TypeOf(R"(input a: float32[N,4,3]
                      input b: float32[N,3,M]
                      y = Einsum(a, b) {equation="bij,bjk->kbi"})"),
            "float32[M,N,4]");
  EXPECT_THAT(TypeOf(R"(input a: float32[4,3]
                        input b: float32[4,5]
                        y = Einsum(a, b) {equation="ij,jk->ik"})"),
              HasSubstr("cannot be broadcast"));
  EXPECT_THAT(TypeOf(R"(input a: float32[4,3]
                        input b: float32[3]
                        y = Einsum(a, b) {equation="ij,jk->ik"})"),
              HasSubstr("2 labels for 1 axes"));
}

TEST(EinsumTest, EqualEquationsAreEqualText) {
  for (const char* equation : {"ij,jk->ik", "xy,yz->xz", " aB , Bc -> ac ", "ij,jk"}) {
    const auto graph = Inferred(absl::StrCat(R"(input a: float32[2,3]
                                                input b: float32[3,4]
                                                y = Einsum(a, b) {equation=")",
                                             equation, "\"}"));
    ASSERT_TRUE(graph.ok()) << graph.status();
    EXPECT_EQ(graph->nodes[0].attributes.GetString("equation", ""), "ab,bc->ac");
  }
}

TEST(EinsumTest, LabelsHaveKindsByWhereTheyAre) {
  const EinsumKinds kinds = KindsOf({.left = "sbrtl", .right = "tucbv", .output = "crb"});
  EXPECT_EQ(kinds.batch, "b");
  EXPECT_EQ(kinds.rows, "r");
  EXPECT_EQ(kinds.columns, "c");
  EXPECT_EQ(kinds.summed, "stluv");
}

TEST(EinsumTest, OtherEquationsAreNotRead) {
  for (const char* equation : {"", "ij", "ij,jk,kl->il", "...ij,jk->...ik", "ii,ij->j", "ij,jk->ii",
                               "ij,jk->il", "ij,jk->i->k", "Ij,jk", "i1,jk->i", ",,"}) {
    EXPECT_FALSE(ReadEinsum({{"equation", std::string(equation)}}).has_value()) << equation;
  }
  EXPECT_FALSE(ReadEinsum({}).has_value());
}

}  // namespace
}  // namespace quotient::ops
