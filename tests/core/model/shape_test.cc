#include "core/model/shape.h"

#include <gtest/gtest.h>

#include "core/base/reason.h"

namespace quotient::model {
namespace {

TensorType Type(absl::string_view text) { return *ParseTensorType(text); }

TEST(TensorTypeTest, TextRoundTrip) {
  for (const char* text :
       {"float32[]", "int64[3]", "float16[N,3,?,224]", "bool[*]", "undefined[*]"}) {
    EXPECT_EQ(ToString(Type(text)), text);
  }
  for (const char* text :
       {"float32", "float99[1]", "float32[1", "float32[-1]", "float32[1,,2]", ""}) {
    EXPECT_FALSE(ParseTensorType(text).ok()) << text;
  }
}

TEST(TensorTypeTest, StaticMeansAllNumbers) {
  EXPECT_TRUE(Type("float32[2,3]").is_static());
  EXPECT_TRUE(Type("float32[]").is_static());
  EXPECT_FALSE(Type("float32[N]").is_static());
  EXPECT_FALSE(Type("float32[?]").is_static());
  EXPECT_FALSE(Type("float32[*]").is_static());
  EXPECT_FALSE(Type("undefined[2]").is_static());
  EXPECT_EQ(Type("float32[2,3]").elements(), 6);
  EXPECT_EQ(Type("int4[3]").bytes(), 2);
}

TEST(TensorTypeTest, CompatibleAndRefine) {
  EXPECT_TRUE(Compatible(Type("float32[N,3]"), Type("float32[1,3]")));
  EXPECT_FALSE(Compatible(Type("float32[N,3]"), Type("float32[1,4]")));
  EXPECT_FALSE(Compatible(Type("float32[3]"), Type("float32[3,1]")));
  EXPECT_FALSE(Compatible(Type("float32[3]"), Type("int32[3]")));
  EXPECT_EQ(Refine(Type("float32[N,?]"), Type("float32[1,M]")), Type("float32[1,M]"));
  EXPECT_EQ(Refine(Type("float32[*]"), Type("float32[N]")), Type("float32[N]"));
}

TEST(BroadcastTest, NumbersSymbolsAndUnknown) {
  const auto broadcast = [](absl::string_view a, absl::string_view b) {
    return ToString(*Broadcast(*Type(a).shape, *Type(b).shape));
  };
  EXPECT_EQ(broadcast("float32[4,1,3]", "float32[5,1]"), "[4,5,3]");
  EXPECT_EQ(broadcast("float32[]", "float32[2]"), "[2]");
  EXPECT_EQ(broadcast("float32[N,1]", "float32[N,8]"), "[N,8]");
  EXPECT_EQ(broadcast("float32[N]", "float32[8]"), "[8]");
  EXPECT_EQ(broadcast("float32[N]", "float32[M]"), "[?]");
  EXPECT_EQ(broadcast("float32[?]", "float32[?]"), "[?]");
  const auto bad = Broadcast(*Type("float32[2]").shape, *Type("float32[3]").shape);
  EXPECT_EQ(GetReason(bad.status()), Reason::kModelShape);
}

TEST(DTypeTest, NumbersNamesAndBitsAgree) {
  for (int32_t number = 0; DTypeFromOnnx(number).has_value(); ++number) {
    const DType dtype = *DTypeFromOnnx(number);
    EXPECT_EQ(static_cast<int32_t>(dtype), number);
    EXPECT_EQ(DTypeFromName(DTypeName(dtype)), dtype);
  }
  EXPECT_EQ(DTypeFromOnnx(-1), std::nullopt);
  EXPECT_EQ(DTypeFromOnnx(27), std::nullopt);
  EXPECT_EQ(DTypeBits(DType::kBfloat16), 16);
}

TEST(TensorTypeTest, NoElementsWhateverTheOtherDimensionsAre) {
  const int64_t huge = int64_t{1} << 40;
  const TensorType type = StaticType(DType::kFloat32, std::vector<int64_t>{huge, huge, 0});
  EXPECT_EQ(type.elements(), 0);
  EXPECT_EQ(type.bytes(), 0);
}

}  // namespace
}  // namespace quotient::model
