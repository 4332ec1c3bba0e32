#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <onnx/onnx_pb.h>

#include <string>

#include "core/optimize/optimize.h"
#include "tests/core/optimize/optimize_fixture.h"

namespace quotient::optimize {
namespace {

using ::testing::HasSubstr;

TEST(InspectTest, TellsWhatAModelIs) {
  const std::string model = Normalized();
  ModelFiles files;
  files.model = model;
  const auto text = Inspect(files);
  ASSERT_TRUE(text.ok()) << text.status();
  EXPECT_THAT(*text, HasSubstr("\"Conv\": 2"));
  EXPECT_THAT(*text, HasSubstr("float32[N,8,24,24]"));
  EXPECT_THAT(*text, HasSubstr("\"objections\": []"));
}

TEST(InspectTest, TellsWhatIsWrong) {
  ::onnx::ModelProto proto;
  ASSERT_TRUE(proto.ParseFromString(Normalized()));
  proto.mutable_graph()->mutable_node(0)->add_input("input");
  proto.mutable_graph()->mutable_node(0)->add_input("input");
  const std::string model = proto.SerializeAsString();
  ModelFiles files;
  files.model = model;
  const auto text = Inspect(files);
  ASSERT_TRUE(text.ok()) << text.status();
  EXPECT_THAT(*text, HasSubstr("inputs, not 2 to 3"));
}

}  // namespace
}  // namespace quotient::optimize
