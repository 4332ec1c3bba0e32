// External data that is refused: a reason, and a message that names the tensor.

#include <map>
#include <string>

#include "tests/core/onnx/bad_model.h"
#include "tests/core/onnx/onnx_text.h"
#include "tests/support/status_matchers.h"

namespace quotient::onnx {
namespace {

using ::onnx::ModelProto;
using ::onnx::TensorProto;
using ::quotient::testing::BadModel;
using ::quotient::testing::BadModelName;
using ::quotient::testing::HasReason;
using ::quotient::testing::ModelAtOpset;
using ::quotient::testing::ReadProto;
using ::quotient::testing::Weight;
using ::testing::HasSubstr;

void SetExternal(TensorProto* tensor, const std::map<std::string, std::string>& entries) {
  tensor->clear_raw_data();
  tensor->clear_float_data();
  tensor->set_data_location(TensorProto::EXTERNAL);
  for (const auto& [key, value] : entries) {
    auto* entry = tensor->add_external_data();
    entry->set_key(key);
    entry->set_value(value);
  }
}

const BadModel kExternalCases[] = {
    {"ClimbingPath",
     [](ModelProto& m) {
       SetExternal(Weight(m), {{"location", "../secret"}});
     },
     Reason::kExternalDataPath, "'../secret'"},
    {"ClimbingInTheMiddle",
     [](ModelProto& m) {
       SetExternal(Weight(m), {{"location", "a/../../b"}});
     },
     Reason::kExternalDataPath, "leaves"},
    {"ClimbingWithBackslash",
     [](ModelProto& m) {
       SetExternal(Weight(m), {{"location", "a\\..\\b"}});
     },
     Reason::kExternalDataPath, "leaves"},
    {"AbsolutePath",
     [](ModelProto& m) {
       SetExternal(Weight(m), {{"location", "/etc/passwd"}});
     },
     Reason::kExternalDataPath, "absolute"},
    {"Drive",
     [](ModelProto& m) {
       SetExternal(Weight(m), {{"location", "C:x"}});
     },
     Reason::kExternalDataPath, "drive"},
    {"NoLocation",
     [](ModelProto& m) {
       SetExternal(Weight(m), {{"offset", "0"}});
     },
     Reason::kExternalDataPath, "empty"},
    {"NulInLocation",
     [](ModelProto& m) {
       SetExternal(Weight(m), {{"location", std::string("a\0b", 3)}});
     },
     Reason::kExternalDataPath, ""},
    {"FileNotSent",
     [](ModelProto& m) {
       SetExternal(Weight(m), {{"location", "other.bin"}});
     },
     Reason::kExternalDataMissing, "initializer 'w': its data is in 'other.bin'"},
    {"OffsetPastEnd",
     [](ModelProto& m) {
       SetExternal(Weight(m), {{"location", "w.bin"}, {"offset", "17"}});
     },
     Reason::kModelMalformed, "not inside"},
    {"LengthPastEnd",
     [](ModelProto& m) {
       SetExternal(Weight(m), {{"location", "w.bin"}, {"offset", "8"}, {"length", "12"}});
     },
     Reason::kModelMalformed, "not inside"},
    {"OverflowingEnd",
     [](ModelProto& m) {
       SetExternal(Weight(m), {{"location", "w.bin"},
                               {"offset", "9223372036854775807"},
                               {"length", "9223372036854775807"}});
     },
     Reason::kModelMalformed, "not inside"},
    {"NegativeOffset",
     [](ModelProto& m) {
       SetExternal(Weight(m), {{"location", "w.bin"}, {"offset", "-4"}});
     },
     Reason::kModelMalformed, "offset '-4'"},
    {"OffsetIsNoNumber",
     [](ModelProto& m) {
       SetExternal(Weight(m), {{"location", "w.bin"}, {"offset", "4x"}});
     },
     Reason::kModelMalformed, "offset '4x'"},
    {"WrongLength",
     [](ModelProto& m) {
       SetExternal(Weight(m), {{"location", "w.bin"}, {"length", "16"}});
     },
     Reason::kModelMalformed, "external data holds 16"},
    {"UnknownKey",
     [](ModelProto& m) {
       SetExternal(Weight(m), {{"location", "w.bin"}, {"length", "12"}, {"mode", "x"}});
     },
     Reason::kModelMalformed, "unknown entry 'mode'"},
    {"InlineToo",
     [](ModelProto& m) {
       SetExternal(Weight(m), {{"location", "w.bin"}, {"length", "12"}});
       Weight(m)->set_raw_data("123456789012");
     },
     Reason::kModelMalformed, "both external and inline"},
};

class BadExternalDataTest : public ::testing::TestWithParam<BadModel> {};

TEST_P(BadExternalDataTest, IsRefusedWithReasonAndPlace) {
  ModelProto model = ModelAtOpset(13, R"(
      g (float[3] x) => (float[3] y) <float[3] w = {1, 2, 3}> { y = Add(x, w) })");
  GetParam().damage(model);
  const std::map<std::string, std::string> files = {{"w.bin", std::string(16, '\0')}};
  EXPECT_THAT(ReadProto(model, files), HasReason(GetParam().reason, HasSubstr(GetParam().message)));
}

INSTANTIATE_TEST_SUITE_P(External, BadExternalDataTest, ::testing::ValuesIn(kExternalCases),
                         BadModelName);

}  // namespace
}  // namespace quotient::onnx
