// The scripts are run by the shells that are there.

#include "client/cli/completion.h"

#include <stdio.h>
#include <stdlib.h>

#include <fstream>
#include <string>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "core/optimize/device_table.h"
#include "tests/support/status_matchers.h"
#include "tests/support/temp_dir.h"

namespace quotient::cli {
namespace {

using optimize::DeviceFilter;
using ::quotient::testing::HasReason;
using ::quotient::testing::TempDir;
using ::testing::HasSubstr;

std::string Offered(DeviceFilter filter) {
  return absl::StrJoin(optimize::DeviceNames(filter), " ");
}

std::string Output(const std::string& command) {
  std::string output;
  FILE* const pipe = popen(command.c_str(), "r");
  char buffer[4096];
  while (fgets(buffer, sizeof(buffer), pipe) != nullptr) output += buffer;
  return pclose(pipe) == 0 ? output : "failed";
}

class CompletionTest : public ::testing::Test {
 protected:
  // Writes the script and returns its path.
  std::string Script(const char* shell) {
    auto script = CompletionScript(shell);
    EXPECT_OK(script);
    std::ofstream(dir_ / shell) << *script;
    return dir_ / shell;
  }

  // What bash offers for a line, the cursor at its end.
  std::string Bash(const std::string& words, int count) {
    std::ofstream(dir_ / "ask") << "source " << Script("bash") << "\nCOMP_WORDS=(" << words
                                << ")\nCOMP_CWORD=" << count - 1
                                << "\n_quotient\necho \"${COMPREPLY[*]}\"\n";
    return Output(absl::StrCat("cd ", dir_.path(), " && bash ask"));
  }

  TempDir dir_;
};

TEST_F(CompletionTest, BashOffersCommands) {
  EXPECT_EQ(Bash("quotient o", 2), "optimize\n");
  EXPECT_THAT(Bash("quotient ''", 2), HasSubstr("completion"));
}

TEST_F(CompletionTest, BashOffersTheOptionsOfTheCommand) {
  EXPECT_EQ(Bash("quotient optimize --bu", 3), "--budget\n");
  EXPECT_EQ(Bash("quotient watch --bu", 3), "\n");
}

TEST_F(CompletionTest, BashOffersValues) {
  EXPECT_EQ(Bash("quotient optimize --device m", 4), "model:h200 model:h200-strict32\n");
  EXPECT_EQ(Bash("quotient snapshot --device ''", 4), Offered(DeviceFilter::kMeasured) + "\n");
  EXPECT_EQ(Bash("quotient completion f", 3), "fish\n");
  std::ofstream(dir_ / "net.onnx") << "";
  std::ofstream(dir_ / "net.txt") << "";
  EXPECT_EQ(Bash("quotient optimize n", 3), "net.onnx\n");
  EXPECT_THAT(Bash("quotient optimize --report n", 4), HasSubstr("net.txt"));
}

TEST_F(CompletionTest, TheOtherShellsReadTheirScripts) {
  for (const char* shell : {"zsh", "fish"}) {
    const std::string script = Script(shell);
    if (system(absl::StrCat("command -v ", shell, " >/dev/null").c_str()) != 0) continue;
    EXPECT_EQ(Output(absl::StrCat(shell, " -n ", script, " 2>&1")), "") << shell;
  }
}

TEST_F(CompletionTest, QuotesDoNotBreakTheScripts) {
  ASSERT_OK_AND_ASSIGN(const std::string zsh, CompletionScript("zsh"));
  EXPECT_THAT(zsh, HasSubstr("say what is in a model, without optimizing it"));
  EXPECT_THAT(zsh, HasSubstr("[what to optimize for, default auto]"));
  ASSERT_OK_AND_ASSIGN(const std::string fish, CompletionScript("fish"));
  EXPECT_THAT(fish, HasSubstr("-d 'what to optimize for, default auto'\n"));
  EXPECT_THAT(fish, HasSubstr(absl::StrCat("-l device -x -a '", Offered(DeviceFilter::kAll), "'")));
}

TEST_F(CompletionTest, OtherShellsAreRefused) {
  EXPECT_THAT(CompletionScript("tcsh"), HasReason(Reason::kOptionInvalid));
}

}  // namespace
}  // namespace quotient::cli
