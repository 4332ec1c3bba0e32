#include "client/cli/lock_file.h"

#include <gmock/gmock.h>

#include <fstream>
#include <string>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_replace.h"
#include "client/cli/build_failure.h"
#include "tests/support/status_matchers.h"
#include "tests/support/temp_dir.h"

namespace quotient::cli {
namespace {

using ::quotient::testing::HasReason;
using ::quotient::testing::TempDir;
using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::Not;
using ::testing::Pair;

MATCHER_P2(IsFailure, failure, message, "") {
  const absl::Status& status = quotient::testing::StatusOf(arg);
  *result_listener << status.ToString();
  return GetBuildFailure(status) == failure &&
         ::testing::Matches(message)(std::string(status.message()));
}

const std::string kId = "ba8fb361c93873c73f335c4e078266fbd216f02a829b9296df8a5c1b874ba104/8005";

std::string Smallest() {
  return absl::StrCat("quotient-lock 1\nengine = 0.3.0+abc\nmodel = ", kId,
                      "\nresult = improved\nresult model = ", kId, "\n");
}

std::string Replaced(const std::string& from, const std::string& to) {
  const std::string text = Smallest();
  EXPECT_NE(text.find(from), std::string::npos) << from;
  return absl::StrReplaceAll(text, {{from, to}});
}

TEST(LockFileTest, WhatIsWrittenIsReadAgain) {
  const BlobId model = *BlobId::FromText(kId), data = BlobId::Of("data");
  const Lock lock = {
      {{"model", kId}, {"option budget", "5"}, {"option shapes", ""}, {"external w.bin", kId}},
      PinsOfResult("0.3.0+abc", report::Outcome::kImproved,
                   {.model = model, .data = data, .data_location = "a b\n\"=\xff.data"})};
  ASSERT_OK_AND_ASSIGN(const Lock read, Lock::Parse(lock.Text()));
  EXPECT_EQ(read.inputs, lock.inputs);
  EXPECT_EQ(read.result, lock.result);
  EXPECT_EQ(read.Key(), lock.Key());
  EXPECT_EQ(read.engine(), "0.3.0+abc");
  EXPECT_EQ(read.files().model, model);
  EXPECT_EQ(read.files().data, data);
  EXPECT_EQ(read.files().data_location, "a b\n\"=\xff.data");
}

TEST(LockFileTest, LinesAreSortedAndHaveNoSpacesAtTheirEnds) {
  const Lock lock = {{{"model", kId}, {"option a", ""}, {"external b", kId}},
                     PinsOfResult("1", report::Outcome::kNoImprovement, {})};
  EXPECT_EQ(lock.Text(),
            absl::StrCat("quotient-lock 1\nengine = 1\nexternal b = ", kId, "\nmodel = ", kId,
                         "\noption a =\nresult = no_improvement\nresult model = ", BlobId().Text(),
                         "\n"));
}

TEST(LockFileTest, OptionsThatAreDefaultsAreNotInIt) {
  TempDir dir;
  const std::string bytes("\x08\x08\x3a\x00", 4);  // ir_version: 8, graph {}
  std::ofstream(dir / "m.onnx") << bytes;
  ASSERT_OK_AND_ASSIGN(const client::LocalModel model, client::LocalModel::Open(dir / "m.onnx"));
  ASSERT_OK_AND_ASSIGN(const Pins usual, PinsOfInputs(model, {}));
  EXPECT_THAT(usual, ElementsAre(Pair("model", BlobId::Of(bytes).Text())));
  optimize::Options options;
  options.device = "model:h200";
  options.shapes = {{"x = \xff", {1, 2}}};
  ASSERT_OK_AND_ASSIGN(const Pins pins, PinsOfInputs(model, options));
  EXPECT_THAT(pins, ElementsAre(Pair("model", BlobId::Of(bytes).Text()),
                                Pair("option device", "model:h200"),
                                Pair("option shapes", "5:x = \\xff=1,2;")));
  options.shapes = {{"x\nseed=7", {1}}};
  EXPECT_THAT(PinsOfInputs(model, options),
              HasReason(Reason::kOptionInvalid, HasSubstr("line end")));
}

TEST(LockFileTest, WhatIsNoLockFileIsRefusedWithItsLine) {
  const struct {
    std::string text;
    std::string problem;
  } cases[] = {
      {"", "line 1: is not 'quotient-lock 1'"},
      {std::string("\0\xff\n", 3), "line 1: is not 'quotient-lock 1'"},
      {Replaced("lock 1", "lock 2"), "line 1: is not 'quotient-lock 1'"},
      {Smallest().substr(0, Smallest().size() - 1), "line 5: does not end"},
      {Replaced("engine = 0.3.0+abc\n", ""), "has no line 'engine'"},
      {Replaced(absl::StrCat("\nmodel = ", kId), ""), "has no line 'model'"},
      {Replaced("result = improved\n", ""), "has no line 'result'"},
      {Replaced(absl::StrCat("result model = ", kId, "\n"), ""), "has no line 'result model'"},
      {Replaced("model = ", "model="), "line 3: is not NAME = VALUE"},
      {Replaced("model = ", "model =x"), "line 3: is not NAME = VALUE"},
      {Replaced("engine = ", "<<<<<<< HEAD\nengine = "),
       "line 2: is not NAME = VALUE: '<<<<<<< HEAD'"},
      {Replaced("engine = ", "color = red\nengine = "), "line 2: unknown: 'color'"},
      {Replaced("result = ", "engine = 2\nresult = "), "line 4: 'engine' is out of order"},
      {Replaced("result = ", absl::StrCat("model = ", kId, "\nresult = ")),
       "line 4: 'model' is out of order"},
      {Replaced("0.3.0", "0.3\r"), "line 2: has other characters than printable ASCII"},
      {Replaced("0.3.0", "0.3\xc3\xa9"), "line 2: has other characters than printable ASCII"},
      {Replaced("/8005\nresult = ", "/-5\nresult = "), "line 3: model is not SHA-256/SIZE"},
      {Replaced("/8005\nresult = ", "/9999999999999999999999\nresult = "),
       "line 3: model is not SHA-256/SIZE"},
      {Replaced("improved", "better"), "line 4: no result is 'better'"},
      {Replaced("result model", absl::StrCat("result data = ", kId, "\nresult model")),
       "has no line 'result location'"},
      {Replaced("result model", "result location = x\nresult model"), "has no line 'result data'"},
      {absl::StrCat("quotient-lock 1\n", std::string(17 << 20, 'x')), "more than 16 MiB"},
  };
  for (const auto& [text, problem] : cases) {
    EXPECT_THAT(Lock::Parse(text), IsFailure(BuildFailure::kLockInvalid, HasSubstr(problem)));
  }
  EXPECT_THAT(Lock::Parse(absl::string_view()),
              IsFailure(BuildFailure::kLockInvalid, HasSubstr("line 1")));
  EXPECT_OK(Lock::Parse(Smallest()));
}

TEST(LockFileTest, MessagesNameTheFileAndEscapeWhatItSays) {
  TempDir dir;
  EXPECT_THAT(ReadLock(dir / "m.lock"),
              IsFailure(BuildFailure::kLockMissing, HasSubstr("m.lock is not there")));
  std::ofstream(dir / "m.lock") << Replaced("improved", "better");
  EXPECT_THAT(ReadLock(dir / "m.lock"),
              IsFailure(BuildFailure::kLockInvalid, HasSubstr("m.lock: line 4")));
  EXPECT_THAT(ReadLock(dir.path()), HasReason(Reason::kOptionInvalid));
}

TEST(LockFileTest, DifferencesAreNamed) {
  const Pins locked = {{"model", kId}, {"option budget", "30"}, {"external w", "1"}};
  EXPECT_OK(CheckPins(locked, locked, "m.lock"));
  const Pins now = {
      {"model", BlobId::Of("").Text()}, {"option budget", "60"}, {"option seed", "1"}};
  EXPECT_THAT(
      CheckPins(locked, now, "m.lock"),
      IsFailure(
          BuildFailure::kLockDiffers,
          AllOf(HasSubstr("m.lock: external w is in it and not there any more; "),
                HasSubstr("model is e3b0c44298fc1c149afb... and not ba8fb361c93873c73f33...;"),
                HasSubstr("option budget is 60 and not 30; option seed is not in it ("),
                HasSubstr("--update-lock"))));
  const Pins many = {{"a", ""}, {"b", ""}, {"c", ""}, {"d", ""}, {"e", ""}, {"f", ""}};
  EXPECT_THAT(CheckPins({}, many, "m.lock"),
              IsFailure(BuildFailure::kLockDiffers,
                        AllOf(HasSubstr("d is not in it and 2 more"), Not(HasSubstr("e is")))));
}

}  // namespace
}  // namespace quotient::cli
