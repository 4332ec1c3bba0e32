// External data: which files a model needs, and how they come in and go out.

#include "core/onnx/external.h"

#include <cstring>
#include <string>
#include <vector>

#include "core/onnx/data_file.h"
#include "core/onnx/writer.h"
#include "core/ops/infer_graph.h"
#include "tests/core/onnx/onnx_text.h"
#include "tests/support/status_matchers.h"

namespace quotient::onnx {
namespace {

using ::onnx::ModelProto;
using ::onnx::TensorProto;
using ::quotient::testing::HasReason;
using ::quotient::testing::IsOk;
using ::quotient::testing::ModelAtOpset;
using ::quotient::testing::ParseBytes;
using ::quotient::testing::ReadProto;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

void MakeExternal(TensorProto* tensor, const std::string& location, int64_t offset,
                  int64_t length) {
  tensor->set_data_location(TensorProto::EXTERNAL);
  const std::pair<const char*, std::string> entries[] = {
      {"location", location}, {"offset", absl::StrCat(offset)}, {"length", absl::StrCat(length)}};
  for (const auto& [key, value] : entries) {
    auto* entry = tensor->add_external_data();
    entry->set_key(key);
    entry->set_value(value);
  }
}

TensorProto* AddExternalWeight(ModelProto* model, const char* name, int64_t elements,
                               const std::string& location, int64_t offset) {
  TensorProto* tensor = model->mutable_graph()->add_initializer();
  tensor->set_name(name);
  tensor->set_data_type(TensorProto::FLOAT);
  tensor->add_dims(elements);
  MakeExternal(tensor, location, offset, 4 * elements);
  return tensor;
}

std::string FloatBytes(int64_t elements, float first) {
  std::vector<float> values(static_cast<size_t>(elements));
  for (size_t i = 0; i < values.size(); ++i) values[i] = first + static_cast<float>(i);
  return std::string(reinterpret_cast<const char*>(values.data()), values.size() * sizeof(float));
}

std::string Entry(const TensorProto& tensor, absl::string_view key) {
  for (const auto& entry : tensor.external_data()) {
    if (entry.key() == key) return entry.value();
  }
  return "";
}

// The bytes that a written external tensor names.
std::string BytesIn(const TensorProto& tensor, const std::string& file) {
  return file.substr(std::stoul(Entry(tensor, "offset")), std::stoul(Entry(tensor, "length")));
}

const TensorProto& Find(const ModelProto& model, absl::string_view name) {
  for (const TensorProto& tensor : model.graph().initializer()) {
    if (absl::string_view(tensor.name()) == name) return tensor;
  }
  ADD_FAILURE() << "no initializer " << name;
  return TensorProto::default_instance();
}

// 512 floats each; b and c are tied: one place in the file.
ModelProto ThreeWeights() {
  ModelProto model = ModelAtOpset(13, R"(
      g (float[512] x) => (float[512] y)
      { s = Add(x, c)  t = Mul(s, b)  u = Sub(t, a)  y = Add(u, tiny) })");
  AddExternalWeight(&model, "a", 512, "one.bin", 0)->set_doc_string("first");
  AddExternalWeight(&model, "b", 512, "one.bin", 2048);
  AddExternalWeight(&model, "c", 512, "one.bin", 2048);
  AddExternalWeight(&model, "tiny", 1, "sub/two.bin", 4);
  return model;
}

std::map<std::string, std::string> FilesOfThreeWeights() {
  return {{"one.bin", FloatBytes(512, 1) + FloatBytes(512, 7)}, {"sub/two.bin", FloatBytes(2, 9)}};
}

absl::StatusOr<WrittenModel> WriteUnchanged(const ModelProto& proto,
                                            const std::map<std::string, std::string>& files,
                                            const WriteOptions& options) {
  QUOTIENT_ASSIGN_OR_RETURN(Model model, ReadProto(proto, files));
  QUOTIENT_RETURN_IF_ERROR(ops::InferTypes(model.graph));
  return Write(model, model.graph, options);
}

TEST(ExternalLocationsTest, NamesEachFileOnce) {
  EXPECT_THAT(*ExternalLocations(ThreeWeights().SerializeAsString()),
              ElementsAre("one.bin", "sub/two.bin"));
}

TEST(ExternalLocationsTest, FindsThoseInSubgraphsAndAttributes) {
  ModelProto model = ModelAtOpset(13, R"(
      g (bool c, float[2] x) => (float[2] y) {
        y = If (c) <then_branch = a () => (float[2] p) { p = Relu(x) },
                    else_branch = b () => (float[2] q) { k = Constant<value = float[2] {1, 2}>()
                                                         q = Add(x, k) }>
      })");
  auto* branch = model.mutable_graph()->mutable_node(0)->mutable_attribute(1)->mutable_g();
  TensorProto* tensor = branch->mutable_node(0)->mutable_attribute(0)->mutable_t();
  tensor->clear_float_data();
  MakeExternal(tensor, "deep.bin", 0, 8);
  EXPECT_THAT(*ExternalLocations(model.SerializeAsString()), ElementsAre("deep.bin"));

  // Where it is written, the tensor moves into the one file of the result.
  WriteOptions options;
  options.external_location = "out.data";
  ASSERT_OK_AND_ASSIGN(const WrittenModel written,
                       WriteUnchanged(model, {{"deep.bin", FloatBytes(2, 5)}}, options));
  const ModelProto after = ParseBytes(written.bytes);
  const TensorProto& moved = after.graph().node(0).attribute(1).g().node(0).attribute(0).t();
  EXPECT_EQ(Entry(moved, "location"), "out.data");
  EXPECT_EQ(BytesIn(moved, written.external_data), FloatBytes(2, 5));
}

TEST(ExternalLocationsTest, RefusesPathsAndRubbish) {
  ModelProto model = ModelAtOpset(13, "g (float[1] x) => (float[1] y) { y = Relu(x) }");
  AddExternalWeight(&model, "w", 1, "../w.bin", 0);
  EXPECT_THAT(ExternalLocations(model.SerializeAsString()), HasReason(Reason::kExternalDataPath));
  EXPECT_THAT(ExternalLocations("rubbish"), HasReason(Reason::kModelMalformed));
}

TEST(ExternalLocationTest, HarmlessNamesAreFine) {
  for (const char* location : {"w", "./w.bin", "a/b/c", "..w", "a..b/w", "w with blanks", "Ã©"}) {
    EXPECT_THAT(CheckExternalLocation(location, "w", Limits()), IsOk()) << location;
  }
}

TEST(WriteExternalTest, OneFileAlignedInOrderOfUseTiesKept) {
  WriteOptions options;
  options.external_location = "out.onnx.data";
  ASSERT_OK_AND_ASSIGN(const WrittenModel written,
                       WriteUnchanged(ThreeWeights(), FilesOfThreeWeights(), options));
  const ModelProto after = ParseBytes(written.bytes);
  const TensorProto& a = Find(after, "a");
  EXPECT_EQ(Entry(a, "location"), "out.onnx.data");
  EXPECT_EQ(a.doc_string(), "first");
  EXPECT_EQ(BytesIn(a, written.external_data), FloatBytes(512, 1));
  EXPECT_EQ(BytesIn(Find(after, "b"), written.external_data), FloatBytes(512, 7));
  // c is used first, b shares its place, a follows.
  EXPECT_EQ(Entry(Find(after, "c"), "offset"), "0");
  EXPECT_EQ(Entry(Find(after, "b"), "offset"), "0");
  EXPECT_EQ(Entry(a, "offset"), "2048");
  EXPECT_EQ(written.external_data.size(), 4096u);
  // Small tensors are not worth a place.
  EXPECT_EQ(Find(after, "tiny").data_location(), TensorProto::DEFAULT);
  EXPECT_EQ(Find(after, "tiny").raw_data(), FloatBytes(2, 9).substr(4));
}

// It is an input and no constant of the graph; its bytes come along all the same.
TEST(WriteExternalTest, ADefaultOfAnInputComesAlong) {
  ModelProto model = ThreeWeights();
  auto* input = model.mutable_graph()->add_input();
  *input = model.graph().input(0);
  input->set_name("a");
  WriteOptions options;
  options.external_location = "out.data";
  ASSERT_OK_AND_ASSIGN(const WrittenModel written,
                       WriteUnchanged(model, FilesOfThreeWeights(), options));
  const ModelProto after = ParseBytes(written.bytes);
  EXPECT_EQ(BytesIn(Find(after, "a"), written.external_data), FloatBytes(512, 1));
  EXPECT_THAT(ReadProto(after, {{"out.data", written.external_data}}), IsOk());
}

// No bytes to move; but the file it named does not come along.
TEST(WriteExternalTest, AnEmptyTensorNamesNoFileAnyMore) {
  ModelProto model = ThreeWeights();
  AddExternalWeight(&model, "empty", 0, "one.bin", 0);
  auto* concat = model.mutable_graph()->add_node();
  concat->set_op_type("Concat");
  concat->add_input("empty");
  concat->add_input("x");
  concat->add_output("z");
  auto* axis = concat->add_attribute();
  axis->set_name("axis");
  axis->set_type(::onnx::AttributeProto::INT);
  axis->set_i(0);
  *model.mutable_graph()->add_output() = model.graph().output(0);
  model.mutable_graph()->mutable_output(1)->set_name("z");
  WriteOptions options;
  options.external_location = "out.data";
  ASSERT_OK_AND_ASSIGN(const WrittenModel written,
                       WriteUnchanged(model, FilesOfThreeWeights(), options));
  const ModelProto after = ParseBytes(written.bytes);
  EXPECT_EQ(Find(after, "empty").external_data_size(), 0);
  EXPECT_THAT(ReadProto(after, {{"out.data", written.external_data}}), IsOk());
}

TEST(WriteExternalTest, NeedsALocation) {
  EXPECT_THAT(WriteUnchanged(ThreeWeights(), FilesOfThreeWeights(), WriteOptions()),
              HasReason(Reason::kOptionInvalid, HasSubstr("external_location")));
  WriteOptions options;
  options.external_location = "../out.data";
  EXPECT_THAT(WriteUnchanged(ThreeWeights(), FilesOfThreeWeights(), options),
              HasReason(Reason::kExternalDataPath));
}

TEST(WriteExternalTest, LargeInlineModelsGetAFile) {
  ModelProto model = ModelAtOpset(13, "g (float[512] x) => (float[512] y) { y = Add(x, w) }");
  TensorProto* tensor = model.mutable_graph()->add_initializer();
  tensor->set_name("w");
  tensor->set_data_type(TensorProto::FLOAT);
  tensor->add_dims(512);
  tensor->set_raw_data(FloatBytes(512, 3));
  WriteOptions options;
  options.external_location = "out.data";
  ASSERT_OK_AND_ASSIGN(const WrittenModel inline_model, WriteUnchanged(model, {}, options));
  EXPECT_TRUE(inline_model.external_data.empty());
  EXPECT_EQ(inline_model.bytes, model.SerializeAsString());

  options.max_inline_bytes = 2000;  // in place of 2 GiB
  ASSERT_OK_AND_ASSIGN(const WrittenModel written, WriteUnchanged(model, {}, options));
  EXPECT_EQ(written.external_data, FloatBytes(512, 3));
  EXPECT_FALSE(Find(ParseBytes(written.bytes), "w").has_raw_data());
}

TEST(DataFileTest, AlignsPiecesAndSharesEqualOnes) {
  DataFile file;
  const std::string a(100, 'a'), b(10, 'b'), a_again(100, 'a');
  EXPECT_EQ(file.Place(a), 0);
  EXPECT_EQ(file.Place(b), 128);
  EXPECT_EQ(file.Place(a_again), 0);
  const std::string bytes = file.Write();
  EXPECT_EQ(bytes, a + std::string(28, '\0') + b);
}

}  // namespace
}  // namespace quotient::onnx
