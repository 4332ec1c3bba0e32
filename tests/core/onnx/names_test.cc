#include "core/onnx/names.h"

#include <string>

#include "tests/support/status_matchers.h"

namespace quotient::onnx {
namespace {

using ::quotient::testing::HasReason;
using ::quotient::testing::IsOk;

TEST(CheckNameTest, AcceptsWellFormedUtf8) {
  for (const char* name : {"", "conv1/weight:0", "\xc2\x80", "\xe0\xa0\x80", "\xed\x9f\xbf",
                           "\xef\xbf\xbf", "\xf0\x90\x80\x80", "\xf4\x8f\xbf\xbf",
                           "gr\xc3\xb6\xc3\x9f"
                           "e"}) {
    EXPECT_THAT(CheckName(name, "node", Limits()), IsOk()) << name;
  }
}

// The first and last sequences of each kind that the standard forbids.
TEST(CheckNameTest, RefusesEverythingElse) {
  for (const char* name : {"\x80", "\xbf", "\xc0\x80", "\xc1\xbf", "\xc2", "\xc2\x7f",
                           "\xe0\x9f\xbf", "\xe1\x80", "\xed\xa0\x80", "\xed\xbf\xbf",
                           "\xf0\x8f\xbf\xbf", "\xf4\x90\x80\x80", "\xf5\x80\x80\x80", "\xff"}) {
    EXPECT_THAT(CheckName(name, "node", Limits()), HasReason(Reason::kModelUnsupported)) << name;
  }
  EXPECT_THAT(CheckName(absl::string_view("a\0", 2), "node", Limits()),
              HasReason(Reason::kModelUnsupported));
}

TEST(CheckNameTest, BoundsTheLength) {
  EXPECT_THAT(CheckName(std::string(4096, 'n'), "node", Limits()), IsOk());
  EXPECT_THAT(CheckName(std::string(4097, 'n'), "node", Limits()),
              HasReason(Reason::kModelUnsupported));
}

TEST(NamePoolTest, NumbersWhatIsTaken) {
  NamePool pool;
  EXPECT_TRUE(pool.Take("a"));
  EXPECT_FALSE(pool.Take("a"));
  EXPECT_TRUE(pool.Take("a_2"));
  EXPECT_EQ(pool.Fresh("b"), "b");
  EXPECT_EQ(pool.Fresh("a"), "a_1");
  EXPECT_EQ(pool.Fresh("a"), "a_3");
  EXPECT_EQ(pool.Fresh("b"), "b_1");
  EXPECT_TRUE(pool.IsTaken("a_3"));
}

}  // namespace
}  // namespace quotient::onnx
