#include "core/domain/facts.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/substitute.h"
#include "tests/core/domain/choices.h"

namespace quotient::domain {
namespace {

constexpr float kInfinity = std::numeric_limits<float>::infinity();

const Facts& FactsOf(const TensorEGraph& tensors, absl::string_view value) {
  return tensors.domain->data(*tensors.egraph, ClassNamed(tensors, value)).facts;
}

TEST(FactsOfConstant, SeesSignsAndInfinities) {
  EXPECT_TRUE(FactsOfConstant(testing::Floats({2}, {1, 2})).positive());
  EXPECT_TRUE(FactsOfConstant(testing::Floats({2}, {0, 2})).nonnegative());
  EXPECT_FALSE(FactsOfConstant(testing::Floats({2}, {0, 2})).positive());
  EXPECT_FALSE(FactsOfConstant(testing::Floats({2}, {-1, 2})).nonnegative());
  EXPECT_FALSE(FactsOfConstant(testing::Floats({1}, {NAN})).finite());
  EXPECT_FALSE(FactsOfConstant(testing::Floats({1}, {NAN})).softmax_safe());
  EXPECT_FALSE(FactsOfConstant(testing::Floats({2}, {1, kInfinity})).softmax_safe());
}

TEST(FactsOfConstant, MaskIsSafeIfEveryRowHasAFiniteElement) {
  const Facts safe = FactsOfConstant(testing::Floats({2, 2}, {0, -kInfinity, -kInfinity, 0}));
  EXPECT_FALSE(safe.finite());
  EXPECT_TRUE(safe.softmax_safe());
  const Facts row = FactsOfConstant(testing::Floats({2, 2}, {0, 0, -kInfinity, -kInfinity}));
  EXPECT_FALSE(row.softmax_safe());
}

TensorEGraph ImportedAssumingFinite(const model::Graph& graph) {
  auto tensors = FromGraph(graph, graph, /*assume_finite_inputs=*/true);
  EXPECT_THAT(tensors, testing::IsOk());
  return *std::move(tensors);
}

constexpr char kOperators[] = R"(graph g {
    input x: float32[2,4]
    input y: float32[2,4]
    const e: float32[] = [0.001]
    square = Mul(x, x)
    product = Mul(x, y)
    shifted = Add(square, e)
    root = Sqrt(shifted)
    quotient = Div(y, root)
    log = Log(x)
    log_root = Log(root)
    exp = Exp(x)
    bare_root = Sqrt(y)
    ratio = Div(x, y)
    relu = Relu(log)
    gate = Sigmoid(x)
    softmax = Softmax(x)
    output square, product, root, quotient, log, log_root, exp, bare_root, ratio, relu, gate, softmax
  })";

TEST(Facts, FollowOperators) {
  for (const bool assume : {false, true}) {
    const TensorEGraph tensors =
        assume ? ImportedAssumingFinite(Parsed(kOperators)) : Imported(Parsed(kOperators));
    EXPECT_TRUE(FactsOf(tensors, "square").nonnegative());
    EXPECT_FALSE(FactsOf(tensors, "product").nonnegative());
    EXPECT_TRUE(FactsOf(tensors, "shifted").positive());
    EXPECT_TRUE(FactsOf(tensors, "root").positive());
    EXPECT_TRUE(FactsOf(tensors, "relu").nonnegative());
    for (const char* bounded :
         {"x", "root", "quotient", "log_root", "product", "softmax", "gate"}) {
      EXPECT_EQ(FactsOf(tensors, bounded).finite(), assume) << bounded;
    }
    for (const char* unbounded : {"log", "exp", "bare_root", "ratio", "relu"}) {
      EXPECT_FALSE(FactsOf(tensors, unbounded).finite()) << unbounded;
    }
  }
}

TEST(Facts, IntegersBecomeFiniteFloats) {
  const TensorEGraph tensors = Imported(Parsed(R"(graph g {
    input i: int64[2,4]
    input b: bool[2,4]
    const table: float32[2,4] = [0, 1, 2, 3, 4, 5, 6, -7]
    const one: float32[] = [1]
    const least: float32[] = [-3.4028235e38]
    wide = Cast(i) {to=1}
    half = Cast(i) {to=10}
    mask = Cast(b) {to=1}
    flipped = Sub(one, mask)
    added = Mul(flipped, least)
    rows = Gather(table, i)
    masked = Add(mask, added)
    twice = Add(masked, added)
    overflowing = Mul(wide, least)
    output half, rows, masked, twice, overflowing
  })"));
  EXPECT_TRUE(FactsOf(tensors, "wide").finite());
  EXPECT_FALSE(FactsOf(tensors, "half").finite()) << "65504 is the largest float16";
  EXPECT_EQ(FactsOf(tensors, "rows").values, (Interval{-7, 6, false}));
  EXPECT_TRUE(FactsOf(tensors, "masked").finite()) << "the least float plus 1 is the least float";
  EXPECT_FALSE(FactsOf(tensors, "twice").finite()) << "the mask added twice";
  EXPECT_FALSE(FactsOf(tensors, "twice").softmax_safe()) << "all of a row may be masked";
  EXPECT_FALSE(FactsOf(tensors, "overflowing").finite());
}

// ONNX Runtime makes the lowest number of windows in the padding alone, and of some that are all
// NaN.
TEST(Facts, TheLargestOfAWindowIsNotNegativeWhereEachWindowHoldsNumbers) {
  const auto is_nonnegative = [](absl::string_view dims, absl::string_view pool, bool may_be_nan) {
    const TensorEGraph tensors = Imported(Parsed(absl::Substitute(
        R"(graph g {
          input i: int8[$0]
          input f: float32[$0]
          x = $2
          r = Relu(x)
          y = $1
          output y
        })",
        dims, pool, may_be_nan ? "Identity(f)" : "Cast(i) {to=1}")));
    return FactsOf(tensors, "y").nonnegative();
  };
  EXPECT_TRUE(is_nonnegative("1,2,1,1", "MaxPool(r) {kernel_shape=[3,3], pads=[1,1,1,1]}", false));
  EXPECT_TRUE(is_nonnegative(
      "1,2,2,2", "MaxPool(r) {dilations=[2,2], kernel_shape=[2,2], pads=[1,1,1,1]}", false));
  EXPECT_TRUE(is_nonnegative("1,2,3,3", "GlobalMaxPool(r)", false));
  EXPECT_FALSE(is_nonnegative(
      "1,2,1,1", "MaxPool(r) {dilations=[2,2], kernel_shape=[2,2], pads=[1,1,1,1]}", false))
      << "both elements lie in the padding";
  EXPECT_FALSE(is_nonnegative(
      "1,2,3,1", "MaxPool(r) {dilations=[2,2], kernel_shape=[2,2], pads=[1,1,1,1]}", false))
      << "along one axis";
  EXPECT_FALSE(is_nonnegative(
      "1,2,H,W", "MaxPool(r) {kernel_shape=[3,3], pads=[1,1,1,1], strides=[2,2]}", false))
      << "the picture may be empty";
  EXPECT_FALSE(is_nonnegative("1,2,4,4", "MaxPool(r) {kernel_shape=[2,2]}", true));
  EXPECT_FALSE(is_nonnegative("1,2,3,3", "GlobalMaxPool(r)", true));
  EXPECT_FALSE(is_nonnegative("1,2,H,3", "GlobalMaxPool(r)", false));
}

TEST(Facts, LogSoftmaxBesideNaNIsAnything) {
  const TensorEGraph tensors = Imported(Parsed(R"(graph g {
    input x: float64[17]
    y = LogSoftmax(x)
    output y })"));
  EXPECT_EQ(FactsOf(tensors, "y").values, Interval());
}

TEST(Facts, OverflowDependsOnTheType) {
  const auto finite = [](const char* dtype, const char* weight) {
    const std::vector<std::string> weights(600, weight);
    const TensorEGraph tensors =
        Imported(Parsed(absl::StrCat("graph g {\n input b: bool[2,600]\n", " const w: ", dtype,
                                     "[600,1] = [", absl::StrJoin(weights, ","), "]\n",
                                     " x = CastLike(b, w)\n", " y = MatMul(x, w)\n output y\n}")));
    return FactsOf(tensors, "y").finite();
  };
  EXPECT_TRUE(finite("float32", "100"));
  EXPECT_TRUE(finite("float16", "50"));
  EXPECT_FALSE(finite("float16", "1000"));
  EXPECT_TRUE(finite("float32", "1e30"));
  EXPECT_FALSE(finite("float32", "1e36"));
  EXPECT_TRUE(finite("float64", "1e36"));
}

TEST(Facts, RmsNormOfAResidualNetworkStaysBounded) {
  std::string text = R"(graph g {
    input i: int64[2]
    const table: float32[2,4] = [1, 2, 3, 4, 5, 6, 7, 8]
    const e: float32[] = [0.000001]
    const two: float32[] = [2]
    const big: float32[] = [1000]
    x0 = Gather(table, i)
)";
  for (int i = 0; i < 40; ++i) {
    text += absl::Substitute(R"(
    square$0 = Pow(x$0, two)
    mean$0 = ReduceMean(square$0) {axes=[-1]}
    shifted$0 = Add(mean$0, e)
    root$0 = Sqrt(shifted$0)
    inverse$0 = Reciprocal(root$0)
    norm$0 = Mul(x$0, inverse$0)
    wide$0 = Mul(norm$0, big)
    x$1 = Add(x$0, wide$0)
)",
                             i, i + 1);
  }
  const TensorEGraph tensors = Imported(Parsed(text + "    output x40\n}"));
  EXPECT_TRUE(FactsOf(tensors, "x40").finite());
  EXPECT_LT(FactsOf(tensors, "norm39").values.high, 2.1) << "not above the root of 4";
  EXPECT_GE(FactsOf(tensors, "norm39").values.high, 2);
}

TEST(Facts, SoftmaxOfSafeRowsIsFiniteAlongTheLastAxisOnly) {
  const TensorEGraph tensors = ImportedAssumingFinite(Parsed(R"(graph g {
    input x: float32[2,2]
    input b: bool[2,2]
    const mask: float32[2,2] = [0, -inf, -inf, 0]
    const row: float32[1,2] = [0, -inf]
    const least: float32[] = [-inf]
    a = Add(x, mask)
    last = Softmax(a)
    first = Softmax(a) {axis=0}
    c = Add(a, row)
    twice = Softmax(c)
    t = Transpose(a) {perm=[1,0]}
    moved = Softmax(t)
    w = Where(b, x, least)
    chosen = Softmax(w)
    d = Expand(x) {shape=[3,2,2]}
    f = Add(d, mask)
    spread = Softmax(f)
    output last, first, twice, moved, chosen, spread
  })"));
  EXPECT_TRUE(FactsOf(tensors, "last").finite());
  EXPECT_TRUE(FactsOf(tensors, "spread").finite());
  EXPECT_FALSE(FactsOf(tensors, "first").finite());
  EXPECT_FALSE(FactsOf(tensors, "twice").finite()) << "the second row is -inf";
  EXPECT_FALSE(FactsOf(tensors, "moved").finite()) << "rows became columns";
  EXPECT_FALSE(FactsOf(tensors, "chosen").finite()) << "a row may be -inf";
}

TEST(Facts, OutputsOfOpaqueNodesAreAnything) {
  TensorDomain domain(/*assume_finite_inputs=*/true);
  egraph::EGraph egraph(&domain, &domain);
  const model::TensorType type(model::DType::kFloat32, {model::Dim(2)});
  const TypePair types{type, type};
  ASSERT_OK_AND_ASSIGN(const ClassId node, egraph.Add(domain.OpaqueNode(0, "Mystery"), {}));
  const ClassId children[] = {node};
  ASSERT_OK_AND_ASSIGN(const ClassId output,
                       egraph.Add(domain.OpaqueOutput(0, 0, types), children));
  EXPECT_FALSE(domain.data(egraph, output).facts.never_nan());
  ASSERT_OK_AND_ASSIGN(const ClassId input, egraph.Add(domain.Input(0, types), {}));
  EXPECT_TRUE(domain.data(egraph, input).facts.finite());
}

TEST(Facts, LearnFromUnions) {
  TensorEGraph tensors = ImportedAssumingFinite(Parsed(R"(graph g {
    input x: float32[2]
    a = Log(x)
    b = Relu(x)
    c = Exp(a)
    d = Neg(a)
    output b, c, d
  })"));
  EXPECT_FALSE(FactsOf(tensors, "d").finite());
  ASSERT_OK(tensors.egraph->Union(ClassNamed(tensors, "a"), ClassNamed(tensors, "b"), 1));
  ASSERT_OK(tensors.egraph->Rebuild());
  EXPECT_TRUE(FactsOf(tensors, "a").finite());
  EXPECT_TRUE(FactsOf(tensors, "d").finite()) << "news reach the parents";
}

}  // namespace
}  // namespace quotient::domain
