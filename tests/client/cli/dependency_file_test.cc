#include "client/cli/dependency_file.h"

#include <gtest/gtest.h>

#include <string>

#include "core/base/reason.h"
#include "tests/support/status_matchers.h"

namespace quotient::cli {
namespace {

using ::quotient::testing::HasReason;

TEST(DependencyFileTest, IsARuleAndAnEmptyOneForEachFile) {
  ASSERT_OK_AND_ASSIGN(const std::string rule, DependencyRule("out.onnx", {"m.onnx", "./w.bin"}));
  EXPECT_EQ(rule, "out.onnx: \\\n  m.onnx \\\n  ./w.bin\nm.onnx:\n./w.bin:\n");
}

TEST(DependencyFileTest, NamesAreWrittenAsMakeReadsThem) {
  ASSERT_OK_AND_ASSIGN(const std::string rule, DependencyRule("a b$c", {"#1\t.onnx"}));
  EXPECT_EQ(rule, "a\\ b$$c: \\\n  \\#1\\\t.onnx\n\\#1\\\t.onnx:\n");
}

TEST(DependencyFileTest, NamesThatMakeCannotReadAreRefused) {
  for (const std::string name : {"a\nb", "a\rb", "a\\b"}) {
    EXPECT_THAT(DependencyRule(name, {}), HasReason(Reason::kOptionInvalid));
    EXPECT_THAT(DependencyRule("out", {name}), HasReason(Reason::kOptionInvalid));
  }
}

}  // namespace
}  // namespace quotient::cli
