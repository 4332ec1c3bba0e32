// Functions and subgraphs that are refused: a reason, and a message that names the place.

#include <string>

#include "absl/strings/str_cat.h"
#include "tests/core/onnx/onnx_text.h"
#include "tests/support/status_matchers.h"

namespace quotient::onnx {
namespace {

using ::onnx::ModelProto;
using ::quotient::testing::HasReason;
using ::quotient::testing::IsOk;
using ::quotient::testing::ModelAtOpset;
using ::quotient::testing::ModelFromText;
using ::quotient::testing::ReadProto;
using ::testing::HasSubstr;

TEST(BadSubgraphTest, FunctionsThatCallEachOther) {
  const ModelProto model = ModelFromText(R"(
      <ir_version: 8, opset_import: ["" : 13, "local" : 1]>
      g (float[2] x) => (float[2] y) { y = local.f(x) }
      <domain: "local", opset_import: ["" : 13, "local" : 1]> f (a) => (b) { b = local.h(a) }
      <domain: "local", opset_import: ["" : 13, "local" : 1]> h (a) => (b) { b = local.f(a) })");
  EXPECT_THAT(ReadProto(model), HasReason(Reason::kModelCyclic, HasSubstr("calls itself")));
}

TEST(BadSubgraphTest, FunctionCallsNestedTooDeeply) {
  std::string text = R"(
      <ir_version: 8, opset_import: ["" : 13, "local" : 1]>
      g (float[2] x) => (float[2] y) { y = local.f0(x) })";
  for (int i = 99; i >= 0; --i) {
    const std::string callee = i == 99 ? "Relu" : absl::StrCat("local.f", i + 1);
    absl::StrAppend(&text, R"(<domain: "local", opset_import: ["" : 13, "local" : 1]> f)", i,
                    " (a) => (b) { b = ", callee, "(a) }");
  }
  EXPECT_THAT(ReadProto(ModelFromText(text)), HasReason(Reason::kLimitDepth));
}

TEST(BadSubgraphTest, SubgraphThatReadsWhatIsNowhere) {
  const ModelProto model = ModelAtOpset(13, R"(
      g (bool c, float[2] x) => (float[2] y) {
        y = If (c) <then_branch = a () => (float[2] p) { p = Relu(x) },
                    else_branch = b () => (float[2] q) { q = Relu(nowhere) }>
      })");
  EXPECT_THAT(ReadProto(model),
              HasReason(Reason::kModelMalformed, HasSubstr("else_branch: node 0")));
}

TEST(BadSubgraphTest, CycleInsideOfASubgraph) {
  const ModelProto model = ModelAtOpset(13, R"(
      g (bool c, float[2] x) => (float[2] y) {
        y = If (c) <then_branch = a () => (float[2] p) { q = Relu(p) p = Abs(q) },
                    else_branch = b () => (float[2] r) { r = Relu(x) }>
      })");
  EXPECT_THAT(ReadProto(model), HasReason(Reason::kModelCyclic, HasSubstr("then_branch")));
}

// The value that the branch reads is computed from the branch's result.
TEST(BadSubgraphTest, CycleThroughACapture) {
  const ModelProto model = ModelAtOpset(13, R"(
      g (bool c, float[2] x) => (float[2] y) {
        t = If (c) <then_branch = a () => (float[2] p) { p = Relu(y) },
                    else_branch = b () => (float[2] q) { q = Relu(x) }>
        y = Abs(t)
      })");
  EXPECT_THAT(ReadProto(model), HasReason(Reason::kModelCyclic));
}

}  // namespace
}  // namespace quotient::onnx
