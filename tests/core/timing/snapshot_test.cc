#include "core/timing/snapshot.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <fstream>
#include <sstream>
#include <string>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_replace.h"
#include "core/base/digest.h"
#include "core/base/rng.h"
#include "core/kernels/ort_fusions.h"
#include "tests/support/status_matchers.h"

namespace quotient::timing {
namespace {

using ::quotient::testing::HasReason;
using ::testing::AllOf;
using ::testing::HasSubstr;

constexpr char kContent[] =
    "quotient-snapshot 2\n"
    "device cpu\n"
    "threads 4\n"
    "channels-last true\n"
    "native-storage false\n"
    "fuses-attention false\n"
    "fingerprint cpu; a core; oneDNN 3\n"
    "protocol 2\n"
    "recorded 2026-03-14T09:26:53Z\n"
    "engine 0.2.0\n"
    "kernel 0.0625 0.07 1 9 ok k1 Add(float32[4], float32[4])->(float32[4])\n"
    "kernel 123450 130000 140000 3 noisy k1 Relu{}(float32[\"a b\"])->(float32[4])\n"
    "kernel unsupported k1 Tanh{}(int8[4])->(int8[4])\n";

// With the checksum that belongs to it.
std::string Sealed(absl::string_view content) {
  return absl::StrCat(content, "sha256 ", Digest::Of(content).Hex(), "\n");
}

Snapshot Example() {
  Snapshot snapshot;
  snapshot.device = "cpu";
  snapshot.partition.threads = 4;
  snapshot.fingerprint = "cpu; a core; oneDNN 3";
  snapshot.protocol = 2;
  snapshot.recorded_unix_s = 1773480413;
  snapshot.engine = "0.2.0";
  snapshot.timings["k1 Relu{}(float32[\"a b\"])->(float32[4])"] =
      Rounded({TimingState::kNoisy, 123450, 130000, 140000, 0, 3});
  snapshot.timings["k1 Add(float32[4], float32[4])->(float32[4])"] =
      Rounded({TimingState::kOk, 0.0625, 0.07, 1, 0, 9});
  snapshot.timings["k1 Tanh{}(int8[4])->(int8[4])"] = {TimingState::kUnsupported};
  return snapshot;
}

TEST(SnapshotTest, IsWrittenAsDocumented) { EXPECT_EQ(ToText(Example()), Sealed(kContent)); }

TEST(SnapshotTest, NamesARuntimeThatOptimizesGraphs) {
  Snapshot snapshot = Example();
  snapshot.partition.runtime = kernels::FindRuntimeFusions("onnxruntime/8");
  const std::string text = ToText(snapshot);
  EXPECT_THAT(text, HasSubstr("fuses-attention false\nruntime onnxruntime/8\nfingerprint"));
  ASSERT_OK_AND_ASSIGN(const Snapshot read, ParseSnapshot(text));
  EXPECT_EQ(read.partition.runtime, snapshot.partition.runtime);
  const std::string other = Sealed(absl::StrReplaceAll(
      kContent, {{"fuses-attention false\n", "fuses-attention false\nruntime other/8\n"}}));
  EXPECT_THAT(ParseSnapshot(other), HasReason(Reason::kOptionInvalid));
}

TEST(SnapshotTest, IsReadBack) {
  ASSERT_OK_AND_ASSIGN(const Snapshot back, ParseSnapshot(Sealed(kContent)));
  EXPECT_EQ(back.device, "cpu");
  EXPECT_EQ(back.partition.threads, 4);
  EXPECT_TRUE(back.partition.channels_last);
  EXPECT_EQ(back.fingerprint, "cpu; a core; oneDNN 3");
  EXPECT_EQ(back.protocol, 2);
  EXPECT_EQ(RecordedTime(back), "2026-03-14T09:26:53Z");
  EXPECT_EQ(back.engine, "0.2.0");
  EXPECT_EQ(back.timings, Example().timings);
}

TEST(SnapshotTest, RoundingKeepsFiveDigits) {
  const Timing rounded = Rounded({TimingState::kOk, 1.23456789, 1234567.89, 7e7, 0.5, 9, "a plan"});
  EXPECT_EQ(rounded.min_us, 1.2346);
  EXPECT_EQ(rounded.q25_us, 1234600);
  EXPECT_EQ(rounded.median_us, 7e7);
  EXPECT_EQ(rounded.plan, "");
  EXPECT_DOUBLE_EQ(rounded.relative_spread, 1234600 / 1.2346 - 1);
}

TEST(SnapshotTest, WhatHasNoTimeHasNoNumbers) {
  EXPECT_EQ(Rounded({TimingState::kUnsupported, 1, 2, 3, 0.5, 9, "a plan"}),
            Timing{TimingState::kUnsupported});
}

TEST(SnapshotTest, WhateverTheTimesItIsReadBack) {
  for (uint64_t seed = 0; seed < 200; ++seed) {
    SCOPED_TRACE(seed);
    Rng rng(seed);
    Snapshot snapshot = Example();
    snapshot.partition.threads = 1 + static_cast<int>(rng.Below(128));
    snapshot.partition.channels_last = rng.Below(2) == 0;
    snapshot.partition.fuses_attention = rng.Below(2) == 0;
    if (rng.Below(2) == 0) snapshot.partition.storage = kernels::Storage::kNative;
    snapshot.recorded_unix_s = static_cast<int64_t>(rng.Below(250'000'000'000));
    for (uint64_t i = rng.Below(50); i-- > 0;) {
      const double min_us = std::exp(rng.Uniform(-9, 20));
      const double q25_us = min_us * rng.Uniform(1, 1.1);
      snapshot.timings[absl::StrCat("k1 Op(", rng.Next(), ")")] =
          Rounded({rng.Below(4) == 0 ? TimingState::kNoisy : TimingState::kOk, min_us, q25_us,
                   q25_us * rng.Uniform(1, 2), 0, static_cast<int>(rng.Below(100))});
    }
    const std::string text = ToText(snapshot);
    ASSERT_OK_AND_ASSIGN(const Snapshot back, ParseSnapshot(text));
    EXPECT_EQ(back.timings, snapshot.timings);
    EXPECT_EQ(ToText(back), text);
  }
}

// What an H200 took, in tests/data/cuda: `--device-snapshot` accepts the files.
TEST(SnapshotTest, ThoseOfAnH200CanBeRead) {
  for (const char* name : {"h200.snapshot", "h200-strict32.snapshot"}) {
    std::stringstream text;
    text << std::ifstream(absl::StrCat("tests/data/cuda/", name)).rdbuf();
    ASSERT_OK_AND_ASSIGN(const Snapshot snapshot, ParseSnapshot(text.str()));
    EXPECT_GE(snapshot.timings.size(), 300) << name;
    EXPECT_THAT(snapshot.fingerprint, HasSubstr("NVIDIA H200")) << name;
  }
}

TEST(SnapshotTest, DamageIsNoticedWhereverItIs) {
  const std::string whole = Sealed(kContent);
  for (size_t at = 0; at < whole.size(); ++at) {
    EXPECT_THAT(ParseSnapshot(whole.substr(0, at)), HasReason(Reason::kOptionInvalid)) << at;
    std::string flipped = whole;
    flipped[at] = static_cast<char>(flipped[at] ^ 1);
    EXPECT_THAT(ParseSnapshot(flipped), HasReason(Reason::kOptionInvalid)) << at;
  }
  EXPECT_THAT(ParseSnapshot(whole + "\n"),
              HasReason(Reason::kOptionInvalid, HasSubstr("line 15: nothing may follow")));
}

TEST(SnapshotTest, AnEditIsNamedByItsChecksum) {
  const std::string edited =
      absl::StrReplaceAll(Sealed(kContent), {{"kernel 0.0625", "kernel 0.05"}});
  EXPECT_THAT(ParseSnapshot(edited),
              HasReason(Reason::kOptionInvalid, HasSubstr("line 14: sha256: is not that of")));
}

TEST(SnapshotTest, MistakesAreNamedByLineAndField) {
  const struct {
    const char* from;
    const char* to;
    const char* error;
  } kCases[] = {
      {"quotient-snapshot 2", "quotient-snapshot 1", "line 1: quotient-snapshot: format 1"},
      {"quotient-snapshot 2", "{", "line 1: quotient-snapshot: is missing; there is '{'"},
      {"device cpu\n", "", "line 2: device: is missing; there is 'threads 4'"},
      {"device cpu", "device ", "line 2: device: is empty"},
      {"device cpu", "device c\tpu", "line 2: device: holds a control character"},
      {"threads 4", "threads 0", "line 3: threads: '0' is not a whole number from 1 to"},
      {"threads 4", "threads 04", "line 3: threads"},
      {"channels-last true", "channels-last yes", "line 4: channels-last: neither true nor false"},
      {"native-storage false", "native-storage 1", "line 5: native-storage: neither true nor"},
      {"fuses-attention false", "fuses-attention no", "line 6: fuses-attention: neither true nor"},
      {"protocol 2", "protocol -1", "line 8: protocol"},
      {"09:26:53Z", "09:26:53+00:00", "line 9: recorded"},
      {"2026-03-14T09:26:53Z", "infinite-future", "line 9: recorded"},
      {"kernel 0.0625", "kernel 0.06250", "line 11: min: '0.06250' is not a time"},
      {"kernel 0.0625", "kernel -0.0625", "line 11: min"},
      {"kernel 0.0625", "kernel nan", "line 11: min"},
      {"kernel 0.0625", "kernel inf", "line 11: min"},
      {"kernel 0.0625", "kernel 0.5", "line 11: kernel: min, q25 and median"},
      {" 9 ok ", " 9000000 ok ", "line 11: samples"},
      {" 9 ok ", " 9 good ", "line 11: state"},
      {"k1 Add(float32[4], float32[4])->(float32[4])", "", "line 11: key: is empty"},
      {"k1 Add", "k1 Zero", "line 12: key: kernels are not sorted"},
      {"kernel unsupported k1 Tanh{}(int8[4])->(int8[4])", "kernel unsupported ",
       "line 13: key: is empty"},
      {"kernel unsupported", "kernel Unsupported", "line 13: min: 'Unsupported' is not a time"},
      {"kernel unsupported", "kernel 0 0 0 0 unsupported", "line 13: state: neither ok nor noisy"},
      {"unsupported k1 Tanh", "unsupported k1 Abs", "line 13: key: kernels are not sorted"},
      {"kernel 123450", "colonel 123450", "line 12: sha256: is missing; there is 'colonel"},
  };
  for (const auto& [from, to, error] : kCases) {
    const std::string content = absl::StrReplaceAll(kContent, {{from, to}});
    ASSERT_NE(content, kContent) << from;
    EXPECT_THAT(ParseSnapshot(Sealed(content)),
                HasReason(Reason::kOptionInvalid, HasSubstr(error)));
  }
}

TEST(SnapshotTest, SizesAreLimited) {
  const std::string key(size_t{1} << 17, 'k');
  EXPECT_THAT(
      ParseSnapshot(Sealed(absl::StrReplaceAll(kContent, {{"k1 Add", key}}))),
      HasReason(Reason::kOptionInvalid, AllOf(HasSubstr("line 11: key"), HasSubstr("more than"))));
  EXPECT_THAT(ParseSnapshot(std::string(kMaxSnapshotBytes + 1, '\n')),
              HasReason(Reason::kOptionInvalid, HasSubstr("at most")));
}

}  // namespace
}  // namespace quotient::timing
