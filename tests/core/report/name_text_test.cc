#include "core/report/name_text.h"

#include <gtest/gtest.h>

#include <string>

namespace quotient::report {
namespace {

TEST(NameTextTest, NamesForProgramsBecomeWords) {
  EXPECT_EQ(InWords("no_improvement"), "no improvement");
  EXPECT_EQ(InWords("improved"), "improved");
  EXPECT_EQ(InWords(""), "");
}

TEST(NameTextTest, ANameThatFitsStaysAsItIs) {
  EXPECT_EQ(ShortName("", 10), "");
  EXPECT_EQ(ShortName("layer1/add", 10), "layer1/add");
}

TEST(NameTextTest, LongNamesThatDifferAtTheirEndsStillDiffer) {
  const std::string block = "/inner/encoder/block.0/layer.0/SelfAttention/";
  EXPECT_EQ(ShortName(block + "q/MatMul", 40), "/inner/encod..r.0/SelfAttention/q/MatMul");
  EXPECT_EQ(ShortName(block + "q/MatMul", 40).size(), 40u);
  EXPECT_NE(ShortName(block + "q/MatMul", 40), ShortName(block + "k/MatMul", 40));
}

// Of a text this long, escaping alone would keep the beginning.
TEST(NameTextTest, TheEndOfAVeryLongNameIsKept) {
  EXPECT_EQ(ShortName(std::string(1000, 'x') + "/end", 14), "xxxx..xxxx/end");
}

TEST(NameTextTest, EscapesTakeNoMoreRoomThanThereIs) {
  const std::string text = ShortName("\x1b\x1b\x1b\x1b\x1b\x1b", 8);
  EXPECT_EQ(text.size(), 8u);
  EXPECT_EQ(text.find('\x1b'), std::string::npos);
}

TEST(NameTextTest, WithoutRoomThereIsNoName) { EXPECT_EQ(ShortName("abc", 2), ".."); }

}  // namespace
}  // namespace quotient::report
