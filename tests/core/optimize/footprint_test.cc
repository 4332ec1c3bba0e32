#include "core/optimize/footprint.h"

#include <gtest/gtest.h>

#include "core/model/text.h"

namespace quotient::optimize {
namespace {

int64_t Bytes(absl::string_view text, int sets) {
  return BytesToRun(*model::ParseGraph(text), sets);
}

TEST(FootprintTest, InputsAndWhatLivesAtOneTime) {
  // The input in five forms; of the values at most two at a time, in three forms.
  EXPECT_EQ(Bytes(R"(graph g {
                       input x: float32[100]
                       a: float32[100] = Relu(x)
                       b: float32[100] = Relu(a)
                       c: float32[100] = Relu(b)
                       output c })",
                  2),
            5 * 400 + 3 * 800);
  // The first is still read at the end.
  EXPECT_EQ(Bytes(R"(graph g {
                       input x: float32[100]
                       a: float32[100] = Relu(x)
                       b: float32[100] = Relu(a)
                       c: float32[100] = Add(a, b)
                       output c })",
                  2),
            5 * 400 + 3 * 1200);
}

TEST(FootprintTest, ReadTwiceByOneNodeIsFreedOnce) {
  EXPECT_EQ(Bytes(R"(graph g {
                       input x: float32[10]
                       a: float32[10] = Relu(x)
                       b: float32[10] = Mul(a, a)
                       c: float32[10] = Mul(b, b)
                       output c })",
                  1),
            4 * 40 + 3 * 80);
}

}  // namespace
}  // namespace quotient::optimize
