// Attention and RotaryEmbedding beyond ONNX's own cases (node_cases_test): types with symbols,
// refusals, canonical form, and what masks do.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "absl/strings/str_cat.h"
#include "tests/core/ops/one_node.h"
#include "tests/support/status_matchers.h"

namespace quotient::ops {
namespace {

using testing::AttributesOf;
using ::testing::DoubleNear;
using ::testing::Each;
using testing::Evaluated;
using testing::HasReason;
using ::testing::HasSubstr;
using testing::Inferred;
using ::testing::Pointwise;
using testing::TypeOf;
using testing::ValuesOf;

auto Near(std::vector<double> values, double tolerance = 1e-12) {
  return Pointwise(DoubleNear(tolerance), values);
}

TEST(Attention, TypesFollowFromHeadsAndColumns) {
  EXPECT_EQ(TypeOf(R"(input q: float32[B,H,M,D]
                      input k: float32[B,H,N,D]
                      input v: float32[B,H,N,E]
                      y = Attention(q, k, v))"),
            "float32[B,H,M,E]");
  EXPECT_EQ(TypeOf(R"(input q: float32[B,M,12]
                      input k: float32[B,N,6]
                      input v: float32[B,N,10]
                      y = Attention(q, k, v) {kv_num_heads=2, q_num_heads=4})"),
            "float32[B,M,20]");
  EXPECT_EQ(TypeOf(R"(input q: float32[B,M,W]
                      input k: float32[B,N,W]
                      input v: float32[B,N,V]
                      y = Attention(q, k, v) {kv_num_heads=2, q_num_heads=2})"),
            "float32[B,M,V]");
  EXPECT_EQ(TypeOf(R"(input q: float32[B,M,W]
                      input k: float32[B,N,W]
                      input v: float32[B,N,V]
                      y = Attention(q, k, v) {kv_num_heads=2, q_num_heads=4})"),
            "float32[B,M,?]");
}

TEST(Attention, ContradictionsAreNamed) {
  const auto error = [](const char* q, const char* k, const char* v, const char* rest) {
    return Inferred(absl::StrCat("input q: float32[", q, "]\ninput k: float32[", k,
                                 "]\ninput v: float32[", v, "]\ninput m: bool[2,1,4,6]\ny = ", rest,
                                 " @heads"))
        .status();
  };
  const auto refused = [](absl::string_view what) {
    return HasReason(Reason::kModelShape,
                     ::testing::AllOf(HasSubstr("heads"), HasSubstr(std::string(what))));
  };
  constexpr char kPlain[] = "Attention(q, k, v)";
  EXPECT_THAT(error("2,3,4,8", "2,3,5,7", "2,3,5,8", kPlain), refused("8 and 7 columns"));
  EXPECT_THAT(error("2,3,4,8", "2,3,5,8", "2,3,6,8", kPlain), refused("5 and 6 keys"));
  EXPECT_THAT(error("2,3,4,8", "1,3,5,8", "2,3,5,8", kPlain), refused("2 and 1 batches"));
  EXPECT_THAT(error("2,3,4,8", "2,2,5,8", "2,2,5,8", kPlain), refused("cannot share 2 heads"));
  EXPECT_THAT(error("2,3,4,8", "2,0,5,8", "2,0,5,8", kPlain), refused("cannot share 0 heads"));
  EXPECT_THAT(error("2,4,8", "2,5,8", "2,5,8", kPlain), refused("q_num_heads is 0"));
  EXPECT_THAT(error("4,8", "5,8", "5,8", kPlain), refused("2 axes"));
  EXPECT_THAT(error("2,3,4,8", "2,5,24", "2,5,24", "Attention(q, k, v) {kv_num_heads=3}"),
              refused("4 axes"));
  EXPECT_THAT(
      error("2,4,8", "2,5,8", "2,5,8", "Attention(q, k, v) {kv_num_heads=1, q_num_heads=3}"),
      refused("cannot be cut into 3 heads"));
  EXPECT_THAT(error("2,3,4,8", "2,3,5,8", "2,3,5,8", "Attention(q, k, v, m)"), refused("mask"));
}

TEST(Attention, CanonicalForm) {
  constexpr char kInputs[] = R"(input q: float32[B,4,M,16]
                                input k: float32[B,2,N,16]
                                input v: float32[B,2,N,E]
                                )";
  EXPECT_EQ(AttributesOf(absl::StrCat(kInputs, "y = Attention(q, k, v) {is_causal=0, ",
                                      "kv_num_heads=2, q_num_heads=4, qk_matmul_output_mode=2, ",
                                      "scale=0.25, softcap=0.0, softmax_precision=1}")),
            "");
  EXPECT_EQ(AttributesOf(absl::StrCat(kInputs, "y = Attention(q, k, v) {scale=0.5}")),
            "{scale=0.5}");
  EXPECT_THAT(AttributesOf(absl::StrCat(kInputs, "y = Attention(q, k, v) {q_num_heads=2}")),
              HasSubstr("2 and 4 heads"));
}

// Two keys with the scores 0 and log(3): weights 1/4 and 3/4.
TEST(Attention, IsAWeightedMeanOfValues) {
  EXPECT_THAT(ValuesOf(R"(const q: float64[1,1,1,1] = [1]
                          const k: float64[1,1,2,1] = [0, 1.0986122886681098]
                          const v: float64[1,1,2,2] = [4, 8, 0, 4]
                          y = Attention(q, k, v))"),
              Near({1, 5}));
  EXPECT_THAT(ValuesOf(R"(const q: float64[1,1,1,1] = [1]
                          const k: float64[1,1,2,1] = [0, 1.0986122886681098]
                          const v: float64[1,1,2,2] = [4, 8, 0, 4]
                          const m: float64[1,2] = [1.0986122886681098, 0]
                          y = Attention(q, k, v, m))"),
              Near({2, 6}));
}

TEST(Attention, HeadsOfQueriesShareNeighbouringKeys) {
  EXPECT_THAT(ValuesOf(R"(const q: float64[1,4,1,1] = [0, 0, 0, 0]
                          const k: float64[1,2,1,1] = [0, 0]
                          const v: float64[1,2,1,1] = [5, 7]
                          y = Attention(q, k, v))"),
              Near({5, 5, 7, 7}));
  EXPECT_THAT(ValuesOf(R"(const q: float64[1,1,4] = [0, 0, 0, 0]
                          const k: float64[1,1,2] = [0, 0]
                          const v: float64[1,1,2] = [5, 7]
                          y = Attention(q, k, v) {kv_num_heads=2, q_num_heads=4})",
                       3),
              Near({5, 5, 7, 7}));
}

// All scores are 0, so that the result is the mean of the values that are seen.
std::string Means(absl::string_view mask, absl::string_view rest) {
  return absl::StrCat("const q: float32[1,1,2,1] = [0, 0]\nconst k: float32[1,1,3,1] = [0, 0, 0]\n",
                      "const v: float32[1,1,3,1] = [3, 6, 12]\n", mask, "\ny = ", rest);
}

TEST(Attention, MasksHideKeys) {
  EXPECT_THAT(ValuesOf(Means("", "Attention(q, k, v) {is_causal=1}")), Near({3, 4.5}));
  EXPECT_THAT(ValuesOf(Means("const m: bool[2,3] = [true, false, false, false, true, true]",
                             "Attention(q, k, v, m)")),
              Near({3, 9}));
  EXPECT_THAT(ValuesOf(Means("const m: bool[2,3] = [true, false, true, false, true, true]",
                             "Attention(q, k, v, m) {is_causal=1}")),
              Near({3, 6}));
  EXPECT_THAT(
      ValuesOf(Means("const m: bool[2,2] = [true, false, true, true]", "Attention(q, k, v, m)")),
      Near({3, 4.5}));
  EXPECT_THAT(ValuesOf(Means("const m: float32[2,2] = [0, 0, -inf, 0]", "Attention(q, k, v, m)")),
              Near({4.5, 6}));
}

TEST(Attention, WhereAllKeysAreHidden) {
  EXPECT_THAT(ValuesOf(Means("const m: bool[2,3] = [false, false, false, true, true, true]",
                             "Attention(q, k, v, m)")),
              Near({0, 7}));
  EXPECT_THAT(
      ValuesOf(Means("const m: float32[1,3] = [-inf, -inf, -inf]", "Attention(q, k, v, m)")),
      Each(0));
  EXPECT_THAT(ValuesOf(Means("const m: bool[2,3] = [true, false, false, false, false, true]",
                             "Attention(q, k, v, m) {is_causal=1}")),
              Near({3, 0}));
  EXPECT_THAT(
      ValuesOf(Means("const m: float32[1,3] = [-3e38, -3e38, -3e38]", "Attention(q, k, v, m)")),
      Near({7, 7}));
  EXPECT_THAT(ValuesOf(R"(const q: float32[1,1,2,1] = [0, 0]
                          const k: float32[1,1,0,1] = []
                          const v: float32[1,1,0,2] = []
                          y = Attention(q, k, v))"),
              Each(0));
}

TEST(Attention, IsNotEvaluatedWithWhatIsNotKnown) {
  for (const char* attributes :
       {"softcap=2.0", "is_causal=2", "scale=-1.0", "scale=0.0", "left_window_size=2"}) {
    EXPECT_TRUE(absl::IsUnimplemented(
        Evaluated(Means("", absl::StrCat("Attention(q, k, v) {", attributes, "}"))).status()))
        << attributes;
  }
}

TEST(RotaryEmbedding, Types) {
  EXPECT_EQ(TypeOf(R"(input x: float32[B,H,S,D]
                      input c: float32[P,C]
                      input s: float32[P,C]
                      input i: int64[B,S]
                      y = RotaryEmbedding(x, c, s, i))"),
            "float32[B,H,S,D]");
  const auto error = [](const char* x, const char* c, const char* rest) {
    return Inferred(absl::StrCat("input x: float32[", x, "]\ninput c: float32[", c,
                                 "]\ninput i: int64[2,4]\ny = ", rest, " @turned"))
        .status();
  };
  const auto refused = [](absl::string_view what) {
    return HasReason(Reason::kModelShape,
                     ::testing::AllOf(HasSubstr("turned"), HasSubstr(std::string(what))));
  };
  EXPECT_THAT(error("2,3,4,8", "9,3", "RotaryEmbedding(x, c, c, i)"), refused("cos_cache"));
  EXPECT_THAT(error("2,3,4,8", "9,4", "RotaryEmbedding(x, c, c)"), refused("2 axes"));
  EXPECT_THAT(error("2,3,4,8", "2,5,4", "RotaryEmbedding(x, c, c)"), refused("5"));
  EXPECT_THAT(error("2,3,5,8", "9,4", "RotaryEmbedding(x, c, c, i)"), refused("position_ids"));
  EXPECT_THAT(error("2,3,4,7", "9,3", "RotaryEmbedding(x, c, c, i)"), refused("no pairs"));
  EXPECT_THAT(error("2,4,8", "9,4", "RotaryEmbedding(x, c, c, i)"), refused("num_heads is 0"));
  EXPECT_THAT(error("2,4,8", "9,4", "RotaryEmbedding(x, c, c, i) {num_heads=3}"),
              refused("cannot be cut into 3 heads"));
  EXPECT_THAT(error("2,3,4,8", "9,5", "RotaryEmbedding(x, c, c, i) {rotary_embedding_dim=10}"),
              refused("a head has 8 columns"));
}

TEST(RotaryEmbedding, CanonicalForm) {
  EXPECT_EQ(AttributesOf(R"(input x: float32[B,3,S,8]
                            input c: float32[B,S,4]
                            y = RotaryEmbedding(x, c, c)
                                {interleaved=0, num_heads=3, rotary_embedding_dim=8})"),
            "");
  EXPECT_EQ(AttributesOf(R"(input x: float32[B,S,24]
                            input c: float32[B,S,2]
                            y = RotaryEmbedding(x, c, c)
                                {interleaved=1, num_heads=3, rotary_embedding_dim=4})"),
            "{interleaved=1, num_heads=3, rotary_embedding_dim=4}");
}

// A quarter turn takes (a, b) to (-b, a).
TEST(RotaryEmbedding, TurnsHalvesOrNeighbours) {
  constexpr char kInputs[] = R"(const x: float64[1,1,1,5] = [1, 2, 3, 4, 5]
                                const c: float64[1,1,2] = [0, 1]
                                const s: float64[1,1,2] = [1, 0]
                                )";
  EXPECT_THAT(
      ValuesOf(absl::StrCat(kInputs, "y = RotaryEmbedding(x, c, s) {rotary_embedding_dim=4}")),
      Near({-3, 2, 1, 4, 5}));
  EXPECT_THAT(ValuesOf(absl::StrCat(
                  kInputs, "y = RotaryEmbedding(x, c, s) {interleaved=1, rotary_embedding_dim=4}")),
              Near({-2, 1, 3, 4, 5}));
}

TEST(RotaryEmbedding, RowsHaveTheAnglesOfTheirPositions) {
  constexpr char kCaches[] = R"(const c: float64[3,1] = [0, 1, -1]
                                const s: float64[3,1] = [1, 0, 0]
                                const i: int64[1,2] = [2, 0]
                                )";
  EXPECT_THAT(
      ValuesOf(absl::StrCat(kCaches, "const x: float64[1,2,2,2] = [1, 2, 3, 4, 5, 6, 7, 8]\n",
                            "y = RotaryEmbedding(x, c, s, i)")),
      Near({-1, -2, -4, 3, -5, -6, -8, 7}));
  EXPECT_THAT(ValuesOf(absl::StrCat(kCaches, "const x: float64[1,2,4] = [1, 2, 5, 6, 3, 4, 7, 8]\n",
                                    "y = RotaryEmbedding(x, c, s, i) {num_heads=2}")),
              Near({-1, -2, -5, -6, -4, 3, -8, 7}));
  EXPECT_FALSE(Evaluated(R"(const x: float64[1,1,1,2] = [1, 2]
                            const c: float64[3,1] = [0, 1, -1]
                            const i: int64[1,1] = [3]
                            y = RotaryEmbedding(x, c, c, i))")
                   .ok());
}

}  // namespace
}  // namespace quotient::ops
