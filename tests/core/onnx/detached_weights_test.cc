#include "core/onnx/detached_weights.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <map>
#include <string>

#include "core/base/reason.h"
#include "core/onnx/external_reference.h"
#include "tests/core/onnx/onnx_text.h"
#include "tests/support/status_matchers.h"

namespace quotient::onnx {
namespace {

using quotient::testing::HasReason;
using quotient::testing::ModelAtOpset;
using quotient::testing::ParseBytes;
using ::testing::HasSubstr;

TensorProto Weights(const std::string& name, const std::string& bytes) {
  TensorProto tensor;
  tensor.set_name(name);
  tensor.set_data_type(TensorProto::UINT8);
  tensor.add_dims(static_cast<int64_t>(bytes.size()));
  tensor.set_raw_data(bytes);
  tensor.set_doc_string("kept");
  return tensor;
}

TensorProto Elsewhere(const std::string& name, const std::string& location, int64_t offset,
                      int64_t length) {
  TensorProto tensor = Weights(name, "");
  tensor.set_dims(0, length);
  WriteExternalReference({location, offset, length}, &tensor);
  return tensor;
}

ModelProto Model() { return ModelAtOpset(17, "g (float[1] x) => (float[1] y) { y = Neg(x) }"); }

// What a tensor refers to in the file of the weights.
absl::string_view Referred(const TensorProto& tensor, const std::string& file) {
  const auto reference = ReadExternalReference(tensor, "here", Limits());
  EXPECT_OK(reference.status());
  EXPECT_EQ(reference->location, "file");
  EXPECT_EQ(reference->offset % DataFile::kAlignment, 0);
  return absl::string_view(file).substr(static_cast<size_t>(reference->offset),
                                        static_cast<size_t>(reference->length.value()));
}

TEST(DetachedWeightsTest, CopiesCanHaveContentsOfTheirOwn) {
  std::string content;
  for (int i = 0; i < 100; ++i) content.push_back(static_cast<char>(i));
  ModelProto model = Model();
  for (const char* const name : {"a", "b", "c", "other"}) {
    const std::string location = name == std::string("other") ? "other" : "weights";
    *model.mutable_graph()->add_initializer() = Elsewhere(name, location, 0, 100);
  }
  const std::string bytes = model.SerializeAsString();
  const std::string other = content;
  const std::map<std::string, absl::string_view> apart = {{"weights", content}, {"other", other}};
  ASSERT_OK_AND_ASSIGN(const DetachedWeights equal, DetachWeights(bytes, apart, "file", 10));
  ASSERT_OK_AND_ASSIGN(const DetachedWeights rotated,
                       DetachWeights(bytes, apart, "file", 10, Copies::kRotated));
  const std::string equal_file = equal.weights.Write(), file = rotated.weights.Write();
  const ModelProto is_equal = ParseBytes(equal.model), is_rotated = ParseBytes(rotated.model);
  const std::string expected[] = {content, content.substr(64) + content.substr(0, 64),
                                  content.substr(28) + content.substr(0, 28), content};
  for (int i = 0; i < 4; ++i) {
    EXPECT_EQ(Referred(is_equal.graph().initializer(i), equal_file), content) << i;
    EXPECT_EQ(Referred(is_rotated.graph().initializer(i), file), expected[i]) << i;
  }
}

TEST(DetachedWeightsTest, LargeInitializersGoAndSmallOnesStay) {
  ModelProto model = Model();
  const std::string a(100, 'a'), b(70, 'b'), small(9, 's');
  *model.mutable_graph()->add_initializer() = Weights("a", a);
  *model.mutable_graph()->add_initializer() = Weights("small", small);
  *model.mutable_graph()->add_initializer() = Weights("b", b);
  *model.mutable_graph()->add_initializer() = Weights("again", a);
  const std::string bytes = model.SerializeAsString();
  ASSERT_OK_AND_ASSIGN(const DetachedWeights detached, DetachWeights(bytes, {}, "file", 10));
  const std::string file = detached.weights.Write();
  ModelProto rest = ParseBytes(detached.model);
  ASSERT_EQ(rest.graph().initializer_size(), 4);
  EXPECT_EQ(Referred(rest.graph().initializer(0), file), a);
  EXPECT_EQ(Referred(rest.graph().initializer(2), file), b);
  EXPECT_EQ(Referred(rest.graph().initializer(3), file), a);
  EXPECT_EQ(detached.weights.parts().size(), 3u) << "equal ones stay apart";
  EXPECT_EQ(rest.graph().initializer(1).SerializeAsString(),
            model.graph().initializer(1).SerializeAsString());
  EXPECT_EQ(rest.graph().initializer(0).doc_string(), "kept");
  // Nothing else changes.
  rest.mutable_graph()->clear_initializer();
  model.mutable_graph()->clear_initializer();
  EXPECT_EQ(rest.SerializeAsString(), model.SerializeAsString());
}

TEST(DetachedWeightsTest, DataOfOtherFilesComesAlong) {
  ModelProto model = Model();
  *model.mutable_graph()->add_initializer() = Elsewhere("w", "w.bin", 2, 3);
  const std::string bytes = model.SerializeAsString();
  ASSERT_OK_AND_ASSIGN(const DetachedWeights detached,
                       DetachWeights(bytes, {{"w.bin", "01234567"}}, "file", 1024));
  EXPECT_EQ(Referred(ParseBytes(detached.model).graph().initializer(0), detached.weights.Write()),
            "234");
  EXPECT_THAT(DetachWeights(bytes, {}, "file", 1024),
              HasReason(Reason::kExternalDataMissing, HasSubstr("initializer 'w'")));
}

TEST(DetachedWeightsTest, InitializersOfInnerGraphsGoToo) {
  ModelProto model = ModelAtOpset(17, R"(g (bool c) => (float[1] y) {
      y = If (c) <then_branch = a () => (float[1] z) { z = Identity(v) },
                  else_branch = b () => (float[1] z) { z = Identity(v) }>
    })");
  NodeProto& node = *model.mutable_graph()->mutable_node(0);
  const std::string weights(50, 'v');
  for (AttributeProto& branch : *node.mutable_attribute()) {
    *branch.mutable_g()->add_initializer() = Weights("v", weights);
  }
  const std::string bytes = model.SerializeAsString();
  ASSERT_OK_AND_ASSIGN(const DetachedWeights detached, DetachWeights(bytes, {}, "file", 10));
  const std::string file = detached.weights.Write();
  const ModelProto rest = ParseBytes(detached.model);
  for (const AttributeProto& branch : rest.graph().node(0).attribute()) {
    EXPECT_EQ(Referred(branch.g().initializer(0), file), weights);
  }
}

TEST(DetachedWeightsTest, NumbersThatAreNotRawStay) {
  ModelProto model = Model();
  TensorProto numbers = Weights("n", "");
  numbers.clear_raw_data();
  numbers.set_dims(0, 100);
  for (int i = 0; i < 100; ++i) numbers.add_int32_data(7);
  *model.mutable_graph()->add_initializer() = numbers;
  const std::string bytes = model.SerializeAsString();
  ASSERT_OK_AND_ASSIGN(const DetachedWeights detached, DetachWeights(bytes, {}, "file", 10));
  EXPECT_EQ(detached.model, bytes);
  EXPECT_FALSE(detached.weights.is_used());
}

TEST(DetachedWeightsTest, WhatIsNoModelIsRefused) {
  EXPECT_THAT(DetachWeights("no model", {}, "file", 1024),
              HasReason(Reason::kModelMalformed, HasSubstr("no ONNX model")));
}

}  // namespace
}  // namespace quotient::onnx
