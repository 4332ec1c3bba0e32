// The options that builds give to `quotient optimize`.

#include <gmock/gmock.h>

#include <fstream>
#include <string>
#include <vector>

#include "client/cli/command_table.h"
#include "client/cli/parse.h"
#include "tests/support/status_matchers.h"
#include "tests/support/temp_dir.h"

namespace quotient::cli {
namespace {

using ::quotient::testing::HasReason;
using ::testing::HasSubstr;

absl::StatusOr<Settings> Parse(std::vector<const char*> arguments) {
  arguments.insert(arguments.begin(), {"m.onnx", "-o", "out.onnx"});
  return ParseArguments(*FindCommand("optimize"), arguments);
}

TEST(BuildOptionsTest, AllAreRead) {
  ASSERT_OK_AND_ASSIGN(const Settings s,
                       Parse({"--lock", "m.lock", "--update-lock", "--cache", "c",
                              "--require-improvement", "2.5", "--max-seconds", "90", "--restat",
                              "--depfile", "out.d", "--depfile-target", "stamp"}));
  EXPECT_EQ(s.lock, "m.lock");
  EXPECT_TRUE(s.update_lock);
  EXPECT_EQ(s.result_cache, "c");
  EXPECT_EQ(s.required_percent, 2.5);
  EXPECT_EQ(s.max_seconds, 90);
  EXPECT_TRUE(s.restat);
  EXPECT_EQ(s.depfile, "out.d");
  EXPECT_EQ(s.depfile_target, "stamp");
}

TEST(BuildOptionsTest, NoImprovementIsRequiredByZero) {
  for (const char* const zero : {"0", "0.0"}) {
    ASSERT_OK_AND_ASSIGN(const Settings s, Parse({"--require-improvement", zero}));
    EXPECT_EQ(s.required_percent, 0);
  }
}

TEST(BuildOptionsTest, MistakesAreNamed) {
  const struct {
    std::vector<const char*> arguments;
    const char* problem;
  } cases[] = {
      {{"--update-lock"}, "--update-lock needs --lock"},
      {{"--cache", "c"}, "--cache needs --lock"},
      {{"--depfile-target", "stamp"}, "--depfile-target needs --depfile"},
      {{"--require-improvement", "-1"},
       "--require-improvement: '-1' is not a percentage from 0 to below 100"},
      {{"--require-improvement", "100"}, "is not a percentage from 0 to below 100"},
      {{"--require-improvement", "nan"}, "is not a percentage from 0 to below 100"},
      {{"--require-improvement", "5%"}, "is not a percentage from 0 to below 100"},
      {{"--max-seconds", "0"}, "--max-seconds: is 0"},
  };
  for (const auto& [arguments, problem] : cases) {
    EXPECT_THAT(Parse(arguments), HasReason(Reason::kOptionInvalid, HasSubstr(problem)));
  }
}

TEST(BuildOptionsTest, NoInputIsWrittenOver) {
  const testing::TempDir dir;
  const std::string file = dir / "file";
  std::ofstream(file) << "an input";
  const auto is_refused = HasReason(Reason::kOptionInvalid, HasSubstr("are the same file"));
  const auto parse = [&](const std::vector<const char*>& arguments) {
    return ParseArguments(*FindCommand("optimize"), arguments);
  };
  const char* const path = file.c_str();
  EXPECT_THAT(parse({path, "-o", "o", "--depfile", path}), is_refused);
  EXPECT_THAT(parse({path, "-o", "o", "--lock", path, "--update-lock"}), is_refused);
  EXPECT_THAT(parse({"m.onnx", "-o", path, "--lock", path}), is_refused);
  EXPECT_THAT(parse({"m.onnx", "-o", "o", "--depfile", path, "--lock", path}), is_refused);
  EXPECT_THAT(
      parse({"m.onnx", "-o", "o", "--device-snapshot", path, "--lock", path, "--update-lock"}),
      is_refused);
  EXPECT_OK(parse({"m.onnx", "-o", "o", "--lock", path}));
  EXPECT_OK(parse({"m.onnx", "-o", "o", "--lock", path, "--update-lock"}));
}

}  // namespace
}  // namespace quotient::cli
