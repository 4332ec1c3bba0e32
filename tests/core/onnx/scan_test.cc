// The first pass over untrusted bytes: limits on the wire format, and setting weights aside.

#include "core/onnx/scan.h"

#include <string>

#include "core/onnx/wire.h"
#include "tests/core/onnx/onnx_text.h"
#include "tests/support/status_matchers.h"

namespace quotient::onnx {
namespace {

using ::quotient::testing::HasReason;
using ::quotient::testing::IsOk;
using ::quotient::testing::ModelAtOpset;
using ::quotient::testing::ParseBytes;
using ::testing::HasSubstr;

// A message with one length-delimited field.
std::string Wrapped(uint32_t number, absl::string_view payload) {
  std::string message;
  AppendBytesField(number, payload, &message);
  return message;
}

constexpr uint32_t kGraph = 7, kNode = 1, kAttribute = 5, kSubgraph = 6;

std::string ModelWithNestedGraphs(int depth) {
  std::string graph;
  for (int i = 0; i < depth; ++i) {
    graph = Wrapped(kNode, Wrapped(kAttribute, Wrapped(kSubgraph, graph)));
  }
  return Wrapped(kGraph, graph);
}

std::string Repeated(const std::string& field, int times) {
  std::string all;
  for (int i = 0; i < times; ++i) all += field;
  return all;
}

TEST(ScanTest, AcceptsAModel) {
  const auto model = ModelAtOpset(13, "g (float[2] x) => (float[2] y) { y = Relu(x) }");
  EXPECT_THAT(ScanModel(model.SerializeAsString(), Limits()), IsOk());
}

TEST(ScanTest, RefusesNoBytesAtAll) {
  EXPECT_THAT(ScanModel("", Limits()), HasReason(Reason::kModelMalformed, HasSubstr("no bytes")));
}

TEST(ScanTest, RefusesTextAndNoise) {
  for (const char* text : {"hello, I am not a model", "\xff\xff\xff\xff", "{\"a\": 1}"}) {
    EXPECT_THAT(ScanModel(text, Limits()), HasReason(Reason::kModelMalformed)) << text;
  }
}

// Cut anywhere, the rest is either still a message or refused; never read past its end.
TEST(ScanTest, SurvivesEveryTruncation) {
  const std::string bytes =
      ModelAtOpset(13, "g (float[2] x) => (float[2] y) { y = Relu(x) }").SerializeAsString();
  int refused = 0;
  for (size_t size = 1; size < bytes.size(); ++size) {
    // A copy, so that a sanitizer sees the end.
    const std::string cut(bytes, 0, size);
    const absl::Status status = ScanModel(cut, Limits());
    if (status.ok()) continue;
    ++refused;
    EXPECT_THAT(status, HasReason(Reason::kModelMalformed));
  }
  EXPECT_GT(refused, 20);
}

TEST(ScanTest, NamesTheMessageThatIsCut) {
  std::string node = Wrapped(kNode, Wrapped(kAttribute, "\x0a\x7f"));
  EXPECT_THAT(
      ScanModel(Wrapped(kGraph, node), Limits()),
      HasReason(Reason::kModelMalformed, HasSubstr("graph[0].node[0].attribute[0]: truncated")));
}

TEST(ScanTest, RefusesGroups) {
  EXPECT_THAT(ScanModel("\x0b\x0c", Limits()), HasReason(Reason::kModelMalformed));
}

TEST(ScanTest, BoundsTheBytes) {
  Limits limits;
  limits.max_model_bytes = 10;
  EXPECT_THAT(ScanModel(std::string(11, 'x'), limits), HasReason(Reason::kLimitBytes));
}

TEST(ScanTest, BoundsSubgraphsInSubgraphs) {
  Limits limits;
  limits.max_subgraph_depth = 4;
  EXPECT_THAT(ScanModel(ModelWithNestedGraphs(4), limits), IsOk());
  EXPECT_THAT(ScanModel(ModelWithNestedGraphs(5), limits), HasReason(Reason::kLimitDepth));
}

TEST(ScanTest, BoundsMessagesInMessages) {
  constexpr uint32_t kInput = 11, kType = 2, kSequence = 4, kElement = 1;
  std::string type;
  for (int i = 0; i < 200; ++i) type = Wrapped(kSequence, Wrapped(kElement, type));
  const std::string model = Wrapped(kGraph, Wrapped(kInput, Wrapped(kType, type)));
  EXPECT_THAT(ScanModel(model, Limits()), HasReason(Reason::kLimitDepth));
}

// Two bytes on the wire would be hundreds in memory.
TEST(ScanTest, BoundsEmptyMessages) {
  Limits limits;
  limits.max_nodes = limits.max_initializers = limits.max_attributes_per_node = 3;
  limits.max_functions = limits.max_opset_imports = 3;
  limits.max_value_infos = limits.max_training_infos = 3;
  constexpr uint32_t kInitializer = 5, kFunction = 25, kImport = 8, kTraining = 20;
  const auto scan = [&limits](const std::string& model) { return ScanModel(model, limits); };
  for (const auto& [times, matcher] :
       {std::pair<int, ::testing::Matcher<const absl::Status&>>(3, IsOk()),
        {4, HasReason(Reason::kLimitNodes)}}) {
    EXPECT_THAT(scan(Wrapped(kGraph, Repeated(Wrapped(kNode, ""), times))), matcher);
    EXPECT_THAT(scan(Wrapped(kGraph, Repeated(Wrapped(kInitializer, ""), times))), matcher);
    EXPECT_THAT(scan(Wrapped(kGraph, Wrapped(kNode, Repeated(Wrapped(kAttribute, ""), times)))),
                matcher);
    EXPECT_THAT(scan(Repeated(Wrapped(kFunction, ""), times)), matcher);
    EXPECT_THAT(scan(Repeated(Wrapped(kImport, ""), times)), matcher);
    EXPECT_THAT(scan(Repeated(Wrapped(kTraining, ""), times)), matcher);
    for (const uint32_t value_info : {11u, 12u, 13u, 14u}) {
      EXPECT_THAT(scan(Wrapped(kGraph, Repeated(Wrapped(value_info, ""), times))), matcher);
    }
  }
}

TEST(ScanTest, BoundsFieldsOfAnyKind) {
  Limits limits;
  limits.max_fields = 10;
  constexpr uint32_t kInputName = 1;
  const std::string node = Repeated(Wrapped(kInputName, ""), 9);
  EXPECT_THAT(ScanModel(Wrapped(kGraph, Wrapped(kNode, node)), limits),
              HasReason(Reason::kLimitNodes, HasSubstr("fields")));
}

// --- StripModel ---

TEST(StripTest, SetsLargeWeightsAsideAndKeepsTheRest) {
  auto model = ModelAtOpset(13, "g (float[2] x) => (float[2] y) { y = Relu(x) }");
  const std::string large(5000, 'w');
  auto* first = model.mutable_graph()->add_initializer();
  first->set_name("large");
  first->set_raw_data(large);
  first->set_doc_string("kept");
  auto* second = model.mutable_graph()->add_initializer();
  second->set_name("small");
  second->set_raw_data("abcd");

  const std::string bytes = model.SerializeAsString();
  const StrippedModel stripped = StripModel(bytes);
  ASSERT_EQ(stripped.raw_data.size(), 2u);
  EXPECT_EQ(stripped.raw_data[0], large);
  EXPECT_GE(stripped.raw_data[0].data(), bytes.data());  // not a copy
  EXPECT_LT(stripped.raw_data[0].data(), bytes.data() + bytes.size());
  EXPECT_TRUE(stripped.raw_data[1].empty());

  first->set_raw_data("");
  EXPECT_EQ(ParseBytes(stripped.skeleton).SerializeAsString(), model.SerializeAsString());
  EXPECT_LT(stripped.skeleton.size(), 500u);
}

// protobuf lets the last of several values win.
TEST(StripTest, TheLastRawDataCounts) {
  constexpr uint32_t kInitializer = 5, kRawData = 9;
  const std::string large(2000, 'a');
  const std::string model =
      Wrapped(kGraph, Wrapped(kInitializer, Wrapped(kRawData, large) + Wrapped(kRawData, "tiny")));
  const StrippedModel stripped = StripModel(model);
  EXPECT_TRUE(stripped.raw_data[0].empty());
  EXPECT_EQ(ParseBytes(stripped.skeleton).graph().initializer(0).raw_data(), "tiny");
}

}  // namespace
}  // namespace quotient::onnx
