#include "core/kernels/onnxruntime/helper/kept_values.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <string>

#include "tests/support/status_matchers.h"
#include "tests/support/temp_dir.h"

namespace quotient::kernels::onnxruntime {
namespace {

using quotient::testing::StatusIs;
using ::testing::ElementsAre;

TEST(KeptValuesTest, ValuesAreReadAsTheyWere) {
  const quotient::testing::TempDir folder;
  ASSERT_OK_AND_ASSIGN(KeptValues values, KeptValues::Create(folder.path()));
  ASSERT_OK(values.Add({.name = "a", .dtype = 1, .dims = {2, 3}, .bytes = "some bytes"}));
  ASSERT_OK(values.Add({.name = "empty", .dtype = 7, .dims = {0}}));
  ASSERT_OK(values.Add({.name = "b", .dtype = 7, .dims = {}, .bytes = "others"}));
  ASSERT_OK_AND_ASSIGN(const HostTensor a, values.Read("a"));
  EXPECT_EQ(a.name, "a");
  EXPECT_EQ(a.dtype, 1);
  EXPECT_THAT(a.dims, ElementsAre(2, 3));
  EXPECT_EQ(a.bytes, "some bytes");
  ASSERT_OK_AND_ASSIGN(const HostTensor empty, values.Read("empty"));
  EXPECT_EQ(empty.bytes, "");
  ASSERT_OK_AND_ASSIGN(const HostTensor b, values.Read("b"));
  EXPECT_EQ(b.bytes, "others");
  EXPECT_THAT(values.Read("c"), StatusIs(absl::StatusCode::kNotFound));
}

TEST(KeptValuesTest, TheLastValueOfANameCounts) {
  const quotient::testing::TempDir folder;
  ASSERT_OK_AND_ASSIGN(KeptValues values, KeptValues::Create(folder.path()));
  ASSERT_OK(values.Add({.name = "a", .dtype = 1, .dims = {1}, .bytes = "old"}));
  ASSERT_OK(values.Add({.name = "a", .dtype = 7, .dims = {2}, .bytes = "newer"}));
  ASSERT_OK_AND_ASSIGN(const HostTensor a, values.Read("a"));
  EXPECT_EQ(a.dtype, 7);
  EXPECT_EQ(a.bytes, "newer");
}

TEST(KeptValuesTest, TheFileHasNoName) {
  const quotient::testing::TempDir folder;
  ASSERT_OK_AND_ASSIGN(KeptValues values, KeptValues::Create(folder.path()));
  ASSERT_OK(values.Add({.name = "a", .dtype = 1, .dims = {1}, .bytes = "text"}));
  EXPECT_TRUE(std::filesystem::is_empty(folder.path()));
  ASSERT_OK(KeptValues::Create(folder.path()).status()) << "several may be there";
}

TEST(KeptValuesTest, AFolderThatIsMissingIsNamed) {
  const quotient::testing::TempDir folder;
  EXPECT_FALSE(KeptValues::Create(folder / "none").ok());
}

}  // namespace
}  // namespace quotient::kernels::onnxruntime
