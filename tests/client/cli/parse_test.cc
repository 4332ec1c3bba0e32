#include "client/cli/parse.h"

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "absl/strings/strip.h"
#include "client/cli/help.h"
#include "client/cli/option_table.h"
#include "core/optimize/job_options.h"
#include "core/search/strategy.h"
#include "tests/support/status_matchers.h"
#include "tests/support/temp_dir.h"

namespace quotient::cli {
namespace {

using ::quotient::testing::HasReason;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

absl::StatusOr<Settings> Parse(const char* command, const std::vector<const char*>& arguments) {
  return ParseArguments(*FindCommand(command), arguments);
}

TEST(ParseTest, EveryOptionOfOptimize) {
  ASSERT_OK_AND_ASSIGN(const Settings s, Parse("optimize", {"m.onnx",
                                                            "-o",
                                                            "out.onnx",
                                                            "--server",
                                                            "h:1",
                                                            "--report",
                                                            "r.json",
                                                            "--html",
                                                            "r.html",
                                                            "--budget",
                                                            "2m",
                                                            "--max-nodes",
                                                            "7",
                                                            "--simulations",
                                                            "11",
                                                            "--strategy",
                                                            "saturate",
                                                            "--device",
                                                            "model:h200",
                                                            "--threads",
                                                            "2",
                                                            "--seed",
                                                            "9",
                                                            "--max-opset",
                                                            "17",
                                                            "--assume-finite-inputs",
                                                            "--shape",
                                                            "x=1,3",
                                                            "--shape=y=4",
                                                            "--measure-shape",
                                                            "z=5",
                                                            "--freeze-initializers",
                                                            "--disable-rule",
                                                            "conv-scale",
                                                            "--disable-rule",
                                                            "conv-batchnorm",
                                                            "--json",
                                                            "--no-cache",
                                                            "--patience",
                                                            "5s"}));
  EXPECT_THAT(s.positional, ElementsAre("m.onnx"));
  EXPECT_EQ(s.output, "out.onnx");
  EXPECT_EQ(s.server, "h:1");
  EXPECT_EQ(s.report, "r.json");
  EXPECT_EQ(s.html, "r.html");
  EXPECT_EQ(s.options.budget_seconds, 120);
  EXPECT_EQ(s.options.max_nodes, 7);
  EXPECT_EQ(s.options.max_simulations, 11);
  EXPECT_EQ(s.options.device, "model:h200");
  EXPECT_EQ(s.options.threads, 2);
  EXPECT_EQ(s.options.seed, 9u);
  EXPECT_EQ(s.options.max_opset, 17);
  EXPECT_TRUE(s.options.assume_finite_inputs);
  EXPECT_EQ(s.options.shapes.size(), 2u);
  EXPECT_EQ(s.options.measure_shapes.size(), 1u);
  EXPECT_TRUE(s.options.freeze_initializers);
  EXPECT_THAT(s.options.disabled_rules, ElementsAre("conv-scale", "conv-batchnorm"));
  EXPECT_TRUE(s.json);
  EXPECT_TRUE(s.no_cache);
  EXPECT_EQ(s.patience_seconds, 5);
}

TEST(ParseTest, EveryOptionOfSnapshot) {
  ASSERT_OK_AND_ASSIGN(const Settings s,
                       Parse("snapshot", {"-o", "f", "--device", "cpu", "--threads", "3",
                                          "--timings", "t.db", "--json"}));
  EXPECT_EQ(s.output, "f");
  EXPECT_EQ(s.options.device, "cpu");
  EXPECT_EQ(s.options.threads, 3);
  EXPECT_EQ(s.timings, "t.db");
  EXPECT_TRUE(s.json);
}

TEST(ParseTest, EveryOptionOfRules) {
  ASSERT_OK_AND_ASSIGN(const Settings s,
                       Parse("rules", {"--stats", "--stats-from", "rules.db", "--json"}));
  EXPECT_TRUE(s.stats);
  EXPECT_EQ(s.stats_from, "rules.db");
  EXPECT_TRUE(s.json);
  EXPECT_TRUE(s.keeps_statistics);
}

TEST(ParseTest, EveryOptionOfCheck) {
  ASSERT_OK_AND_ASSIGN(
      const Settings s,
      Parse("check", {"a.onnx", "b.onnx", "--threads", "3", "--seed", "5", "--shape", "x=1",
                      "--measure-shape", "y=2", "--freeze-initializers", "--verify-inputs", "4",
                      "--assume-finite-inputs", "--json"}));
  EXPECT_THAT(s.positional, ElementsAre("a.onnx", "b.onnx"));
  EXPECT_EQ(s.options.threads, 3);
  EXPECT_EQ(s.options.seed, 5u);
  EXPECT_EQ(s.options.shapes.size(), 1u);
  EXPECT_EQ(s.options.measure_shapes.size(), 1u);
  EXPECT_EQ(s.options.verify_inputs, 4);
  EXPECT_TRUE(s.options.freeze_initializers);
  EXPECT_TRUE(s.options.assume_finite_inputs);
  EXPECT_TRUE(s.json);
  EXPECT_THAT(Parse("check", {"a.onnx"}), HasReason(Reason::kOptionInvalid));
  EXPECT_THAT(Parse("check", {"a.onnx", "b.onnx", "--device", "cpu"}),
              HasReason(Reason::kOptionInvalid));
}

TEST(ParseTest, ExplainTakesTheOptionsOfAJobAndWritesNoModel) {
  ASSERT_OK_AND_ASSIGN(
      const Settings s,
      Parse("explain", {"m.onnx", "--local", "--device", "onnxruntime", "--threads", "1",
                        "--budget", "20s", "--html", "r.html", "--json", "--no-precedence"}));
  EXPECT_TRUE(s.local);
  EXPECT_TRUE(s.json);
  EXPECT_EQ(s.html, "r.html");
  EXPECT_EQ(s.options.threads, 1);
  for (const char* const option : {"-o", "--report", "--why-not", "--device-snapshot"}) {
    EXPECT_THAT(Parse("explain", {"m.onnx", option, "x"}), HasReason(Reason::kOptionInvalid))
        << option;
  }
}

TEST(ParseTest, EveryOptionOfSimplify) {
  ASSERT_OK_AND_ASSIGN(const Settings s, Parse("simplify", {"a.onnx",
                                                            "b.onnx",
                                                            "--keep",
                                                            "v",
                                                            "--keep",
                                                            "w",
                                                            "--max-bytes-folded",
                                                            "99",
                                                            "--max-opset",
                                                            "18",
                                                            "--disable-rule",
                                                            "mul-one",
                                                            "--threads",
                                                            "3",
                                                            "--seed",
                                                            "5",
                                                            "--shape",
                                                            "x=1",
                                                            "--measure-shape",
                                                            "y=2",
                                                            "--freeze-initializers",
                                                            "--verify-inputs",
                                                            "4",
                                                            "--assume-finite-inputs",
                                                            "--json"}));
  EXPECT_EQ(s.output, "b.onnx");
  EXPECT_THAT(s.options.kept_values, ElementsAre("v", "w"));
  EXPECT_EQ(s.options.max_folded_bytes, 99);
  EXPECT_EQ(s.options.max_opset, 18);
  EXPECT_THAT(s.options.disabled_rules, ElementsAre("mul-one"));
  EXPECT_EQ(s.options.verify_inputs, 4);
  EXPECT_THAT(Parse("simplify", {"a.onnx", "--device", "cpu"}), HasReason(Reason::kOptionInvalid));
}

// As other simplifiers have it, and as 'optimize' does.
TEST(ParseTest, TheOutputOfSimplifyHasTwoPlaces) {
  ASSERT_OK_AND_ASSIGN(const Settings s, Parse("simplify", {"a.onnx", "-o", "b.onnx"}));
  EXPECT_EQ(s.output, "b.onnx");
  EXPECT_THAT(Parse("simplify", {"a.onnx"}),
              HasReason(Reason::kOptionInvalid, HasSubstr("missing: OUT.onnx")));
  EXPECT_THAT(Parse("simplify", {"a.onnx", "b.onnx", "-o", "c.onnx"}),
              HasReason(Reason::kOptionInvalid, HasSubstr("given twice")));
  EXPECT_THAT(Parse("simplify", {"a.onnx", "b.onnx", "c.onnx"}),
              HasReason(Reason::kOptionInvalid, HasSubstr("unexpected 'c.onnx'")));
}

TEST(ParseTest, ARuleMayBeNamed) {
  ASSERT_OK_AND_ASSIGN(const Settings all, Parse("rules", {}));
  EXPECT_THAT(all.positional, ElementsAre());
  ASSERT_OK_AND_ASSIGN(const Settings one, Parse("rules", {"max-relu", "--json"}));
  EXPECT_THAT(one.positional, ElementsAre("max-relu"));
  EXPECT_THAT(Parse("rules", {"max-relu", "mul-one"}),
              HasReason(Reason::kOptionInvalid, HasSubstr("unexpected 'mul-one'")));
  EXPECT_THAT(CommandHelp(*FindCommand("rules")), HasSubstr("quotient rules [RULE] [OPTION]..."));
}

TEST(ParseTest, EveryOptionOfProfile) {
  ASSERT_OK_AND_ASSIGN(
      const Settings s,
      Parse("profile", {"m.onnx", "--device", "onnxruntime", "--threads", "3", "--seed", "5",
                        "--shape", "x=1", "--measure-shape", "y=2", "--freeze-initializers",
                        "--onnxruntime", "lib.so", "--html", "p.html", "--json"}));
  EXPECT_THAT(s.positional, ElementsAre("m.onnx"));
  EXPECT_EQ(s.options.device, "onnxruntime");
  EXPECT_EQ(s.options.threads, 3);
  EXPECT_EQ(s.options.seed, 5u);
  EXPECT_EQ(s.options.shapes.size(), 1u);
  EXPECT_EQ(s.options.measure_shapes.size(), 1u);
  EXPECT_TRUE(s.options.freeze_initializers);
  EXPECT_EQ(s.html, "p.html");
  EXPECT_TRUE(s.json);
}

TEST(ParseTest, WhoNamesTheLibraryWantsItsDevice) {
  ASSERT_OK_AND_ASSIGN(const Settings named, Parse("profile", {"m", "--onnxruntime", "lib.so"}));
  EXPECT_EQ(named.options.device, "onnxruntime");
  ASSERT_OK_AND_ASSIGN(const Settings other,
                       Parse("profile", {"m", "--onnxruntime", "lib.so", "--device", "auto"}));
  EXPECT_EQ(other.options.device, "auto");
}

TEST(ParseTest, OptionsAndPositionalsMix) {
  ASSERT_OK_AND_ASSIGN(const Settings s, Parse("optimize", {"--output=o", "--", "-weird.onnx"}));
  EXPECT_THAT(s.positional, ElementsAre("-weird.onnx"));
}

TEST(ParseTest, MistakesAreNamed) {
  const auto refused = [](const char* command, const std::vector<const char*>& arguments,
                          const char* part) {
    EXPECT_THAT(Parse(command, arguments), HasReason(Reason::kOptionInvalid, HasSubstr(part)));
  };
  refused("optimize", {"m", "-o", "o", "--budgte", "3s"}, "--budgte");
  refused("optimize", {"m", "-o", "o", "--budget", "soon"}, "--budget");
  refused("optimize", {"m", "-o", "o", "--threads", "x"}, "--threads");
  refused("optimize", {"m", "-o", "o", "--shape", "x"}, "--shape");
  refused("optimize", {"m", "-o", "o", "--shape", "x=1,,2"}, "--shape: 'x=1,,2'");
  refused("optimize", {"m", "-o", "o", "--measure-shape", "x=1,2,4,"},
          "--measure-shape: 'x=1,2,4,' has a comma with no dimension");
  refused("optimize", {"m", "-o", "o", "--shape", "x=1", "--shape", "x=2"}, "second shape");
  refused("optimize", {"m", "-o", "o", "--device", "abacus"}, "device");
  refused("optimize", {"m", "-o", "o", "--disable-rule", "nope"}, "no rule is called 'nope'");
  refused("optimize", {"m", "-o", "o", "--seed"}, "needs a value");
  refused("optimize", {"m", "-o", "o", "-o", "p"}, "given twice");
  refused("optimize", {"m", "-o", "o", "--json=1"}, "takes no value");
  refused("optimize", {"m", "-o", "o", "--local", "--server", "h:1"}, "exclude");
  refused("optimize", {"m", "-o", "o", "--onnxruntime", "lib.so"}, "needs --local");
  refused("optimize", {"m", "-o", "o", "--no-precedence"}, "needs --local");
  refused("optimize", {"m", "-o", "o", "--device", "cpu", "--device-snapshot", "f"}, "exclude");
  refused("optimize", {"m", "-o", "o", "--local", "--device", "cpu", "--onnxruntime", "lib.so"},
          "--onnxruntime has no effect with --device cpu");
  refused("profile", {"m", "--device", "model:h200", "--onnxruntime", "lib.so"}, "no effect");
  refused("bisect", {"m", "--check", "c", "--device-snapshot", "f", "--onnxruntime", "lib.so"},
          "--onnxruntime has no effect with --device-snapshot");
  refused("snapshot", {}, "-o FILE");
  refused("profile", {"m", "--budget", "3s"}, "no such option");
  refused("optimize", {"m"}, "-o OUT.onnx");
  refused("optimize", {"-o", "o"}, "MODEL.onnx");
  refused("optimize", {"m", "n", "-o", "o"}, "'n'");
  refused("watch", {"job", "--budget", "3s"}, "no such option");
}

TEST(ParseTest, HelpNeedsNothingElse) {
  for (const Command& command : Commands()) {
    ASSERT_OK_AND_ASSIGN(const Settings s, Parse(command.name, {"--help"}));
    EXPECT_TRUE(s.help);
  }
}

TEST(HelpTest, EveryCommandHasItsOptionsAndExamples) {
  for (const Command& command : Commands()) {
    const std::string help = CommandHelp(command);
    EXPECT_THAT(GeneralHelp(), HasSubstr(command.name));
    EXPECT_FALSE(command.examples.empty());
    for (const char* example : command.examples) EXPECT_THAT(help, HasSubstr(example));
    for (const Option& option : Options()) {
      if ((option.commands & command.bit) == 0) continue;
      EXPECT_THAT(help, HasSubstr(option.name));
    }
  }
}

TEST(HelpTest, LinesFitATerminal) {
  for (const Command& command : Commands()) {
    for (const absl::string_view line : absl::StrSplit(CommandHelp(command), '\n')) {
      const bool is_example = std::ranges::find(command.examples, absl::StripPrefix(line, "  ")) !=
                              command.examples.end();
      EXPECT_TRUE(line.size() <= 100 || is_example) << line;
    }
  }
}

TEST(HelpTest, EachDeviceIsALine) {
  for (const char* const command : {"optimize", "profile", "snapshot"}) {
    const std::string help = CommandHelp(*FindCommand(command));
    EXPECT_THAT(help,
                HasSubstr("default auto:\n" + std::string(33, ' ') + "auto: onnxruntime where"));
    EXPECT_THAT(help,
                HasSubstr("\n" + std::string(33, ' ') + "cpu: the processors of this machine"));
  }
}

TEST(HelpTest, SaysWhatCommandsDoWithOutput) {
  EXPECT_THAT(CommandHelp(*FindCommand("submit")), HasSubstr("writes no file"));
  EXPECT_THAT(CommandHelp(*FindCommand("optimize")), HasSubstr("where the optimized model goes"));
  EXPECT_THAT(CommandHelp(*FindCommand("replay")), HasSubstr("not with JOB"));
}

TEST(OptionTableTest, OffersTheStatesThatJobsHave) {
  const auto state = std::ranges::find(Options(), std::string("state"), &Option::name);
  ASSERT_NE(state, Options().end());
  EXPECT_THAT(state->choices,
              ElementsAre("queued", "running", "cancelling", "succeeded", "failed", "cancelled"));
  EXPECT_THAT(state->help, HasSubstr("queued, running, cancelling, succeeded, failed, cancelled"));
}

TEST(OptionTableTest, OffersTheStrategiesThatThereAre) {
  const auto strategy = std::ranges::find(Options(), std::string("strategy"), &Option::name);
  ASSERT_NE(strategy, Options().end());
  EXPECT_EQ(strategy->choices, search::StrategyNames());
  EXPECT_THAT(strategy->help, HasSubstr("mcts (default)"));
  for (const std::string& name : search::StrategyNames()) {
    EXPECT_THAT(strategy->help, HasSubstr(name));
  }
}

// A new option of a job is on the command line without a line of code.
TEST(OptionTableTest, HasEveryOptionOfAJob) {
  for (const optimize::JobOption& option : optimize::JobOptions()) {
    EXPECT_FALSE(option.help.empty()) << option.flag;
    const std::string flag = absl::StrCat("--", option.flag);
    EXPECT_THAT(CommandHelp(*FindCommand("optimize")), HasSubstr(absl::StrCat(flag, " ")));
    EXPECT_THAT(CommandHelp(*FindCommand("submit")), HasSubstr(absl::StrCat(flag, " ")));
  }
}

TEST(ParseTest, WhatIsReadIsNotWrittenOver) {
  const std::string file = ::testing::TempDir() + "/parse_test.snapshot";
  std::ofstream(file) << "a snapshot";
  for (const char* const output : {"-o", "--report", "--html", "--journal"}) {
    std::vector<const char*> arguments = {"m.onnx", "--device-snapshot", file.c_str(), output,
                                          file.c_str()};
    if (std::string(output) != "-o") arguments.insert(arguments.end(), {"-o", "out.onnx"});
    EXPECT_THAT(Parse("optimize", arguments),
                HasReason(Reason::kOptionInvalid, HasSubstr("are the same file")))
        << output;
  }
  EXPECT_THAT(Parse("snapshot", {"--timings", file.c_str(), "-o", file.c_str()}),
              HasReason(Reason::kOptionInvalid, HasSubstr("are the same file")));
  EXPECT_OK(Parse("optimize", {"m.onnx", "--device-snapshot", file.c_str(), "-o", "out.onnx"}));
  EXPECT_THAT(Parse("replay", {"m.onnx", file.c_str(), "-o", file.c_str()}),
              HasReason(Reason::kOptionInvalid, HasSubstr("are the same file")));
  EXPECT_OK(Parse("replay", {"m.onnx", file.c_str(), "-o", "out.onnx"}));
}

TEST(ParseTest, ReplayTakesAModelWithItsJournalOrAJob) {
  ASSERT_OK_AND_ASSIGN(const Settings job, Parse("replay", {"jobs/1"}));
  EXPECT_THAT(job.positional, ElementsAre("jobs/1"));
  ASSERT_OK_AND_ASSIGN(const Settings files, Parse("replay", {"m.onnx", "m.journal"}));
  EXPECT_THAT(files.positional, ElementsAre("m.onnx", "m.journal"));
  EXPECT_THAT(Parse("replay", {}), HasReason(Reason::kOptionInvalid));
  EXPECT_THAT(Parse("replay", {"m.onnx", "m.journal", "more"}), HasReason(Reason::kOptionInvalid));
}

TEST(ParseTest, NothingButTheResultIsWrittenOverTheModel) {
  const testing::TempDir dir;
  const std::string model = dir / "m.onnx", link = dir / "link", data = dir / "out.onnx.data";
  std::ofstream(model) << "a model";
  std::ofstream(data) << "a model of that name";
  std::filesystem::create_symlink(model, link);
  const auto is_refused = HasReason(Reason::kOptionInvalid, HasSubstr("are the same file"));
  for (const std::string& path : {model, link}) {
    EXPECT_OK(Parse("optimize", {model.c_str(), "-o", path.c_str()}));
    EXPECT_THAT(Parse("optimize", {path.c_str(), "-o", "o", "--report", model.c_str()}),
                is_refused);
    EXPECT_THAT(Parse("optimize", {model.c_str(), "-o", "o", "--html", path.c_str()}), is_refused);
    EXPECT_THAT(Parse("optimize", {model.c_str(), "-o", "o", "--journal", path.c_str()}),
                is_refused);
    EXPECT_THAT(Parse("profile", {model.c_str(), "--html", path.c_str()}), is_refused);
  }
  const std::string out = dir / "out.onnx";
  EXPECT_THAT(Parse("optimize", {data.c_str(), "-o", out.c_str()}), is_refused);
  EXPECT_OK(Parse("optimize", {model.c_str(), "-o", out.c_str()}));
  EXPECT_OK(Parse("submit", {model.c_str(), "-o", model.c_str()}));  // Writes no file.
}

}  // namespace
}  // namespace quotient::cli
