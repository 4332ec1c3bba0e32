#include "core/kernels/onnxruntime/model_files.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <string>

#include "core/kernels/onnxruntime/model_folder.h"
#include "core/os/files.h"
#include "tests/core/onnx/onnx_text.h"
#include "tests/support/status_matchers.h"
#include "tests/support/temp_dir.h"

namespace quotient::kernels::onnxruntime {
namespace {

using quotient::testing::IsOk;
using quotient::testing::ModelAtOpset;
using quotient::testing::StatusIs;
using ::testing::HasSubstr;

// y = x + w, for a w of 2,000 bytes of 'w'.
std::string ModelWithWeights() {
  ::onnx::ModelProto model =
      ModelAtOpset(17, "g (float[500] x) => (float[500] y) { y = Add(x, w) }");
  ::onnx::TensorProto& weights = *model.mutable_graph()->add_initializer();
  weights.set_name("w");
  weights.set_data_type(::onnx::TensorProto::FLOAT);
  weights.add_dims(500);
  weights.set_raw_data(std::string(2000, 'w'));
  return model.SerializeAsString();
}

class ModelFilesTest : public ::testing::Test {
 protected:
  bool IsEmpty() const { return std::filesystem::is_empty(folder_.path()); }

  const quotient::testing::TempDir folder_;
};

TEST_F(ModelFilesTest, TheWeightsAreInAFileOfTheirOwn) {
  const std::string model = ModelWithWeights();
  ASSERT_OK_AND_ASSIGN(const ModelFiles files, ModelFiles::Write(folder_.path(), {.model = model}));
  ASSERT_OK_AND_ASSIGN(const std::string weights, os::ReadFile(folder_ / kWeightsFile));
  EXPECT_EQ(weights, std::string(2000, 'w'));
  ASSERT_OK_AND_ASSIGN(const std::string rest, os::ReadFile(folder_ / kModelFile));
  EXPECT_LT(rest.size(), 500u);
}

TEST_F(ModelFilesTest, ADumpStaysWhenItsFilesAreGone) {
  const std::string model = ModelWithWeights();
  Dump dump;
  {
    ASSERT_OK_AND_ASSIGN(const ModelFiles files,
                         ModelFiles::Write(folder_.path(), {.model = model}));
    std::ofstream(folder_ / kDumpFile) << "graph";
    ASSERT_OK_AND_ASSIGN(dump, files.ReadDump());
    EXPECT_EQ(dump.weights, nullptr);
    std::ofstream(folder_ / kDumpWeightsFile) << "weights";
    ASSERT_OK_AND_ASSIGN(dump, files.ReadDump());
  }
  EXPECT_TRUE(IsEmpty());
  EXPECT_EQ(dump.model, "graph");
  const ModelFile other = dump.FileOf("another graph");
  EXPECT_EQ(other.model, "another graph");
  ASSERT_EQ(other.external_data.size(), 1u);
  EXPECT_EQ(other.external_data.at(kDumpWeightsFile), "weights");
}

TEST_F(ModelFilesTest, ADumpThatIsNotThereIsAnError) {
  const std::string model = ModelWithWeights();
  ASSERT_OK_AND_ASSIGN(const ModelFiles files, ModelFiles::Write(folder_.path(), {.model = model}));
  EXPECT_FALSE(files.ReadDump().ok());
}

TEST_F(ModelFilesTest, TheyAreGoneWithTheObject) {
  const std::string model = ModelWithWeights();
  {
    absl::StatusOr<ModelFiles> files = ModelFiles::Write(folder_.path(), {.model = model});
    ASSERT_THAT(files, IsOk());
    const ModelFiles moved = *std::move(files);
    EXPECT_FALSE(IsEmpty());
  }
  EXPECT_TRUE(IsEmpty());
}

TEST_F(ModelFilesTest, AModelWithoutWeightsFindsNoneOfAnother) {
  const std::string model = ModelWithWeights();
  ASSERT_OK(ModelFiles::Write(folder_.path(), {.model = model}).status());
  const std::string small =
      ModelAtOpset(17, "g (float[1] x) => (float[1] y) { y = Neg(x) }").SerializeAsString();
  ASSERT_OK_AND_ASSIGN(const ModelFiles files, ModelFiles::Write(folder_.path(), {.model = small}));
  EXPECT_FALSE(std::filesystem::exists(folder_ / kWeightsFile));
}

TEST_F(ModelFilesTest, WhatIsNoModelIsRefused) {
  EXPECT_THAT(ModelFiles::Write(folder_.path(), {.model = "no model"}),
              StatusIs(absl::StatusCode::kUnimplemented));
  EXPECT_TRUE(IsEmpty());
}

TEST_F(ModelFilesTest, AFolderWithoutRoomIsNamed) {
  const std::string model = ModelWithWeights();
  const absl::Status status = ModelFiles::Write(folder_ / "missing", {.model = model}).status();
  EXPECT_THAT(status, StatusIs(absl::StatusCode::kResourceExhausted));
  EXPECT_THAT(std::string(status.message()), HasSubstr(folder_ / "missing/weights"));
}

}  // namespace
}  // namespace quotient::kernels::onnxruntime
