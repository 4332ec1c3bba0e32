#include "core/timing/rule_store.h"

#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmath>
#include <cstdint>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <limits>
#include <string>
#include <thread>
#include <vector>

#include "absl/strings/str_cat.h"
#include "core/base/log.h"
#include "core/base/rng.h"
#include "core/os/files.h"
#include "core/timing/file_lock.h"
#include "core/timing/frame.h"
#include "core/timing/rule_table.h"
#include "tests/support/status_matchers.h"

namespace quotient::timing {
namespace {

using quotient::testing::HasReason;
using ::testing::IsEmpty;
using ::testing::SizeIs;

constexpr char kCpu[] = "cpu; a processor";

RuleTotals SomeTotals(int64_t unix_s) { return {1, 1, 12, 9, 31, 4, 0.25, -0.125, unix_s}; }

DeviceRules OneJob(const std::string& rule, int64_t unix_s = 1'000) {
  return {.jobs = 1, .last_unix_s = unix_s, .rules = {{{rule, "v1"}, SomeTotals(unix_s)}}};
}

class RuleStoreTest : public ::testing::Test {
 protected:
  RuleStoreTest() : path_(absl::StrCat(::testing::TempDir(), "/rules.", getpid())), store_(path_) {
    Log().set_level(spdlog::level::err);  // Damaged files are expected here.
  }
  ~RuleStoreTest() override {
    std::filesystem::remove(path_);
    std::filesystem::remove(path_ + ".lock");
  }

  RuleTable Stored() const {
    const absl::StatusOr<RuleTable> table = store_.Read();
    EXPECT_OK(table);
    return table.value_or(RuleTable());
  }
  std::string Content() const {
    std::ifstream file(path_, std::ios::binary);
    return {std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>()};
  }
  void SetContent(const std::string& bytes) const {
    std::ofstream(path_, std::ios::binary) << bytes;
  }

  const std::string path_;
  const RuleStore store_;
};

TEST_F(RuleStoreTest, IsEmptyBeforeTheFirstJob) {
  EXPECT_THAT(Stored(), IsEmpty());
  EXPECT_FALSE(std::filesystem::exists(path_)) << "reading makes no file";
}

TEST_F(RuleStoreTest, JobsAddUpByDeviceRuleAndVersion) {
  ASSERT_OK(store_.Add(kCpu, OneJob("fold", 900)));
  ASSERT_OK(store_.Add(kCpu, OneJob("fold", 1'000)));
  ASSERT_OK(store_.Add(kCpu, OneJob("merge", 1'100)));
  DeviceRules changed = {.jobs = 1, .last_unix_s = 1'200};
  changed.rules[{"fold", "v2"}] = {.jobs = 1, .matches = 5};
  ASSERT_OK(store_.Add(kCpu, changed));
  ASSERT_OK(store_.Add("model", {.jobs = 1, .last_unix_s = 1'300}));

  const RuleTable table = RuleStore(path_).Read().value();
  ASSERT_THAT(table, SizeIs(2));
  const DeviceRules& cpu = table.at(kCpu);
  EXPECT_EQ(cpu.jobs, 4);
  EXPECT_EQ(cpu.last_unix_s, 1'200);
  ASSERT_THAT(cpu.rules, SizeIs(3));
  const RuleTotals twice = {2, 2, 24, 18, 62, 8, 0.5, -0.25, 1'000};
  EXPECT_EQ(cpu.rules.at({"fold", "v1"}), twice);
  EXPECT_EQ(cpu.rules.at({"fold", "v2"}).matches, 5) << "it begins anew";
  EXPECT_EQ(cpu.rules.at({"merge", "v1"}), SomeTotals(1'100));
  EXPECT_EQ(table.at("model"), (DeviceRules{.jobs = 1, .last_unix_s = 1'300}));
}

// Without that, a clock that was ahead once would keep its devices for ever, and new ones out.
TEST_F(RuleStoreTest, ADeviceThatWasJustAddedStaysAndNoTimeIsLaterThanItsJob) {
  constexpr int64_t kAhead = 1'000'000, kNow = 1'000;
  RuleTable full;
  for (size_t i = 0; i < kMostRuleDevices; ++i) {
    full[absl::StrCat("device ", i)] = OneJob("fold", kAhead);
  }
  SetContent(EncodeRuleTable(full));
  for (const char* const device : {"zebra", "zebu"}) {
    ASSERT_OK(store_.Add(device, OneJob("fold", kNow)));
    const RuleTable table = Stored();
    ASSERT_THAT(table, SizeIs(kMostRuleDevices));
    EXPECT_TRUE(table.contains(device));
    for (const auto& [name, rules] : table) EXPECT_EQ(rules, OneJob("fold", kNow)) << name;
  }
}

TEST_F(RuleStoreTest, ALockThatIsNotGivenBackCostsTheJobItsFiguresAlone) {
  ASSERT_OK(store_.Add(kCpu, OneJob("fold")));
  const std::string content = Content();
  {
    const os::Fd file = os::OpenFile(path_ + ".lock", O_RDWR).value();
    const FileLock lock(file.get());
    EXPECT_THAT(store_.Add(kCpu, OneJob("fold")), HasReason(Reason::kStorageDown));
    EXPECT_EQ(Content(), content);
  }
  EXPECT_OK(store_.Add(kCpu, OneJob("fold")));
}

TEST_F(RuleStoreTest, WhatADeadWriterLeftIsRemoved) {
  const std::string leftover = path_ + ".0123.tmp", other = path_ + "0123.tmp";
  for (const std::string& path : {leftover, other}) std::ofstream(path) << "half";
  ASSERT_OK(store_.Add(kCpu, OneJob("fold")));
  EXPECT_FALSE(std::filesystem::exists(leftover));
  EXPECT_TRUE(std::filesystem::remove(other)) << "is another's";
  EXPECT_THAT(Stored(), SizeIs(1));
}

TEST_F(RuleStoreTest, ThreadsAndProcessesAddTogether) {
  constexpr int kWriters = 3, kJobs = 10;
  std::vector<pid_t> children;
  for (int writer = 0; writer < kWriters; ++writer) {
    const pid_t child = fork();
    if (child == 0) {
      bool good = true;
      for (int i = 0; i < kJobs && good; ++i) {
        good = RuleStore(path_).Add(kCpu, OneJob(absl::StrCat("p", writer))).ok();
      }
      _exit(good ? 0 : 1);
    }
    children.push_back(child);
  }
  {
    std::vector<std::jthread> threads;
    for (int writer = 0; writer < kWriters; ++writer) {
      threads.emplace_back([this, writer] {
        for (int i = 0; i < kJobs; ++i) {
          EXPECT_OK(store_.Add(kCpu, OneJob(absl::StrCat("t", writer))));
        }
      });
    }
  }
  for (const pid_t child : children) {
    int status = 1;
    ASSERT_EQ(waitpid(child, &status, 0), child);
    EXPECT_EQ(status, 0);
  }
  const DeviceRules cpu = Stored()[kCpu];
  EXPECT_EQ(cpu.jobs, 2 * kWriters * kJobs);
  ASSERT_THAT(cpu.rules, SizeIs(2 * kWriters));
  for (const auto& [rule, totals] : cpu.rules) EXPECT_EQ(totals.jobs, kJobs) << rule.name;
}

TEST_F(RuleStoreTest, AFileThatIsCutOffKeepsWhatIsWhole) {
  ASSERT_OK(store_.Add("a", OneJob("fold")));
  const size_t one = Content().size();
  ASSERT_OK(store_.Add("b", OneJob("fold")));
  const std::string whole = Content();
  for (size_t size = 0; size < whole.size(); ++size) {
    SetContent(whole.substr(0, size));
    EXPECT_THAT(Stored(), SizeIs(size < one ? 0 : 1)) << size;
  }
  SetContent(whole.substr(0, whole.size() - 1));
  ASSERT_OK(store_.Add("b", OneJob("merge")));
  EXPECT_EQ(Stored().at("a").jobs, 1);
  EXPECT_THAT(Stored().at("b").rules, SizeIs(1));
}

TEST_F(RuleStoreTest, AFlippedByteCostsItsDeviceAlone) {
  for (const char* device : {"a", "b", "c"}) ASSERT_OK(store_.Add(device, OneJob("fold")));
  const std::string whole = Content();
  const size_t record = (whole.size() - kRuleFileMagicSize) / 3;
  const size_t second = kRuleFileMagicSize + record;
  for (size_t i = second; i < second + record; ++i) {
    std::string bytes = whole;
    bytes[i] = static_cast<char>(bytes[i] ^ 0x10);
    SetContent(bytes);
    const RuleTable table = Stored();
    ASSERT_THAT(table, SizeIs(2)) << i;
    EXPECT_TRUE(table.contains("a") && table.contains("c")) << i;
  }
}

TEST_F(RuleStoreTest, FilesOfAnotherKindOrVersionAreRefusedAndStay) {
  for (const std::string bytes : {"a shopping list\n", "QRULES2\nfrom the future", "QTIMING2"}) {
    SetContent(bytes);
    EXPECT_THAT(store_.Read(), HasReason(Reason::kStorageDown));
    EXPECT_THAT(store_.Add(kCpu, OneJob("fold")), HasReason(Reason::kStorageDown));
    EXPECT_EQ(Content(), bytes);
  }
  EXPECT_THAT(RuleStore("/no/such/folder/rules").Add(kCpu, OneJob("fold")),
              HasReason(Reason::kStorageDown));
  EXPECT_THAT(RuleStore(::testing::TempDir()).Read(), HasReason(Reason::kStorageDown));
}

TEST_F(RuleStoreTest, ADeviceNeedsAFingerprint) {
  EXPECT_FALSE(store_.Add("", OneJob("fold")).ok());
  EXPECT_FALSE(store_.Add(std::string(kMostFingerprintBytes + 1, 'x'), OneJob("fold")).ok());
  EXPECT_OK(store_.Add(std::string(kMostFingerprintBytes, 'x'), OneJob("fold")));
}

TEST(RuleTableTest, KeepsTheDevicesAndRulesThatWereUsedLast) {
  RuleTable table;
  for (size_t i = 0; i < kMostRuleDevices + 3; ++i) {
    table[absl::StrCat("device ", i)] = OneJob("fold", static_cast<int64_t>(1'000 + i));
  }
  DeviceRules& large = table["device 66"];
  for (size_t i = 0; i < kMostRulesOfDevice + 5; ++i) {
    large.rules[{absl::StrCat("rule ", i), "v1"}] = SomeTotals(static_cast<int64_t>(i));
  }
  large.rules.erase({"fold", "v1"});
  const DecodedRules decoded = DecodeRuleTable(EncodeRuleTable(table)).value();
  EXPECT_EQ(decoded.dropped, 0u);
  ASSERT_THAT(decoded.table, SizeIs(kMostRuleDevices));
  EXPECT_FALSE(decoded.table.contains("device 2"));
  EXPECT_TRUE(decoded.table.contains("device 3"));
  const DeviceRules& kept = decoded.table.at("device 66");
  ASSERT_THAT(kept.rules, SizeIs(kMostRulesOfDevice));
  EXPECT_FALSE(kept.rules.contains({"rule 4", "v1"}));
  EXPECT_TRUE(kept.rules.contains({"rule 5", "v1"}));
}

// With the right checksum, so that the fields are looked at.
TEST(RuleTableTest, FieldsThatCannotBeRightAreNotTaken) {
  const auto decode = [](const DeviceRules& device) {
    const DecodedRules decoded = DecodeRuleTable(EncodeRuleTable({{"d", device}})).value();
    EXPECT_EQ(decoded.table.empty(), decoded.dropped > 0);
    return decoded.table.size();
  };
  EXPECT_EQ(decode(OneJob("fold")), 1u);
  const RuleVersion fold = {"fold", "v1"};
  for (const double bad : {std::numeric_limits<double>::infinity(), std::nan(""), 1e300}) {
    DeviceRules device = OneJob("fold");
    device.rules[fold].saved = bad;
    EXPECT_EQ(decode(device), 0u);
  }
  for (const int64_t bad : {int64_t{-1}, std::numeric_limits<int64_t>::max()}) {
    DeviceRules device = OneJob("fold");
    device.rules[fold].enodes = bad;
    EXPECT_EQ(decode(device), 0u);
    device = OneJob("fold");
    device.jobs = bad;
    EXPECT_EQ(decode(device), 0u);
  }
  EXPECT_EQ(decode(OneJob("")), 0u);
  EXPECT_EQ(decode(OneJob(std::string(kMostNameBytes + 1, 'x'))), 0u);
}

TEST(RuleTableTest, AnyBytesAreATableOrARefusal) {
  Rng rng(4);
  const std::string whole = EncodeRuleTable({{"a", OneJob("fold")}, {"b", OneJob("merge")}});
  const std::string payload(ReadFrame(absl::string_view(whole).substr(kRuleFileMagicSize)).payload);
  for (int trial = 0; trial < 20'000; ++trial) {
    std::string bytes = payload;
    for (uint64_t i = 1 + rng.Below(4); i-- > 0;) {
      bytes[rng.Below(bytes.size())] = static_cast<char>(rng.Next());
    }
    bytes.resize(rng.Below(8) == 0 ? rng.Below(bytes.size()) : bytes.size());
    bytes = kRuleFileMagic + Framed(bytes);
    const DecodedRules decoded = DecodeRuleTable(bytes).value();
    // What was taken is written as it was.
    if (decoded.dropped == 0) {
      EXPECT_EQ(DecodeRuleTable(EncodeRuleTable(decoded.table))->table, decoded.table);
    }
    std::string unframed = kRuleFileMagic;
    for (uint64_t i = rng.Below(100); i-- > 0;) unframed.push_back(static_cast<char>(rng.Next()));
    EXPECT_OK(DecodeRuleTable(unframed));
  }
}

TEST(RuleTableTest, CountsStopAtTheLargestThatIsRead) {
  constexpr int64_t kMost = int64_t{1} << 53;
  DeviceRules device = {.jobs = kMost, .rules = {{{"fold", "v1"}, {.jobs = 1, .matches = kMost}}}};
  device += OneJob("fold");
  EXPECT_EQ(device.jobs, kMost);
  EXPECT_EQ((device.rules[{"fold", "v1"}].matches), kMost);
  EXPECT_THAT(DecodeRuleTable(EncodeRuleTable({{"d", device}}))->table, SizeIs(1));
}

}  // namespace
}  // namespace quotient::timing
