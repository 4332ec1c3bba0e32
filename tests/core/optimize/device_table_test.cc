#include "core/optimize/device_table.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>

#include "absl/strings/str_cat.h"
#include "core/cost/data_sheets.h"

namespace quotient::optimize {
namespace {

using ::testing::Contains;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsSupersetOf;
using ::testing::Not;

const DeviceKind* Find(absl::string_view name) { return FindDeviceKind(AllDeviceKinds(), name); }

// As cuda/fingerprint.cc writes it.
std::string TextOf(absl::string_view hardware) {
  return absl::StrCat("cuda; ", hardware,
                      "; power limit 700 W; mig off; driver 580.159.04 for 13000");
}
constexpr char kH200[] =
    "NVIDIA H200; sm_90; processors 132; memory 139 GiB, 6144 bits, ecc on; L2 60 MiB; clocks at "
    "most 1980 and 3201 MHz";
constexpr char kA100[] =
    "NVIDIA A100-SXM4-80GB; sm_80; processors 108; memory 79 GiB, 5120 bits, ecc on; L2 40 MiB; "
    "clocks at most 1410 and 1593 MHz";

TEST(DeviceTableTest, EveryOfferedNameIsOfItsRowAlone) {
  for (const DeviceKind& kind : AllDeviceKinds()) {
    EXPECT_FALSE(kind.names.empty());
    EXPECT_NE(kind.help, "");
    for (const std::string& name : kind.names) {
      EXPECT_EQ(Find(name), &kind) << name;
      for (const DeviceKind& other : AllDeviceKinds()) {
        EXPECT_EQ(other.accepts(name), &other == &kind) << name;
      }
      EXPECT_THAT(AcceptedDevices(DeviceFilter::kAll), HasSubstr(name));
    }
  }
}

TEST(DeviceTableTest, ListsTheDevicesThatThereAre) {
  EXPECT_THAT(DeviceNames(DeviceFilter::kMeasured), IsSupersetOf({"cpu", "cuda", "cuda-strict32"}));
  EXPECT_THAT(DeviceNames(DeviceFilter::kMeasured), Not(Contains("model:h200")));
  EXPECT_THAT(DeviceNames(DeviceFilter::kAll),
              IsSupersetOf({"cpu", "cuda", "model:h200", "model:h200-strict32"}));
  EXPECT_EQ(Find("abacus"), nullptr);
  EXPECT_EQ(Find("cuda:1-strict32"), Find("cuda"));
}

// ONNX Runtime comes first: it is what models are deployed in.
TEST(DeviceTableTest, AutoStandsForDevicesThatAreMeasured) {
  const DeviceKind* const kind = Find("auto");
  ASSERT_NE(kind, nullptr);
  EXPECT_THAT(kind->stands_for, ElementsAre("onnxruntime", "cpu"));
  for (const std::string& name : kind->stands_for) EXPECT_TRUE(Find(name)->is_measured()) << name;
  EXPECT_THAT(DeviceNames(DeviceFilter::kMeasured), Contains("auto"));
}

TEST(DeviceTableTest, TheCudaProviderOfOnnxRuntimeIsKnownByItsName) {
  EXPECT_EQ(Find("onnxruntime:cuda"), Find("onnxruntime"));
  EXPECT_THAT(DeviceNames(DeviceFilter::kAll), Not(Contains("onnxruntime:cuda")));
  EXPECT_THAT(AcceptedDevices(DeviceFilter::kAll), HasSubstr("onnxruntime:cuda (not usable yet)"));
}

TEST(DeviceTableTest, MeasuredKindsHaveAllTheirColumns) {
  for (const DeviceKind& kind : AllDeviceKinds()) {
    EXPECT_EQ(kind.is_measured(), kind.roof != nullptr);
    EXPECT_EQ(kind.is_measured(), kind.timing != nullptr);
    EXPECT_EQ(kind.is_measured(), kind.arithmetic != nullptr);
  }
}

TEST(DeviceTableTest, AnH200IsAsItsDataSheetSays) {
  for (const auto& [name, model] :
       {std::pair("cuda", "model:h200"), std::pair("cuda:2-strict32", "model:h200-strict32")}) {
    const cost::Roof roof = Find(name)->roof(name, TextOf(kH200), 4);
    EXPECT_STREQ(roof.sheet.name, model);
    EXPECT_EQ(roof.processors, 132);
  }
}

TEST(DeviceTableTest, AGpuThatNobodyDescribedIsTakenForAnH200) {
  EXPECT_STREQ(Find("cuda")->roof("cuda", "a core", 1).sheet.name, "model:h200");
}

// By NVIDIA's data sheet: 312 TFLOP/s in float16, 156 in TF32, 19.5 in float32; 2.04 TB/s.
TEST(DeviceTableTest, OtherGpusAreAsTheirDriverSays) {
  const cost::Roof tf32 = Find("cuda")->roof("cuda", TextOf(kA100), 1);
  EXPECT_EQ(tf32.processors, 108);
  EXPECT_NEAR(tf32.sheet.product_flops_16, 312e12, 1e12);
  EXPECT_NEAR(tf32.sheet.product_flops, 156e12, 1e12);
  EXPECT_NEAR(tf32.sheet.vector_flops, 19.5e12, 0.1e12);
  EXPECT_NEAR(tf32.sheet.memory_bytes, 0.9 * 2.04e12, 0.01e12);
  EXPECT_EQ(tf32.sheet.cache_size, 40 << 20);
  const cost::Roof strict = Find("cuda")->roof("cuda-strict32", TextOf(kA100), 1);
  EXPECT_NEAR(strict.sheet.product_flops, 19.5e12, 0.1e12);
}

// A slice of an H200 (MIG) has the name of the whole and fewer processors.
TEST(DeviceTableTest, ASliceOfAGpuIsSmallerThanTheWhole) {
  const std::string slice = TextOf(
      "NVIDIA H200 MIG 1g.18gb; sm_90; processors 16; memory 16 GiB, 768 bits, ecc on; L2 7 MiB; "
      "clocks at most 1980 and 3201 MHz");
  const cost::Roof roof = Find("cuda")->roof("cuda", slice, 1);
  EXPECT_EQ(roof.processors, 16);
  EXPECT_LT(roof.sheet.product_flops, cost::FindDeviceSheet("model:h200")->product_flops / 4);
}

}  // namespace
}  // namespace quotient::optimize
