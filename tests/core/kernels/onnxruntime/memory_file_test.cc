#include "core/kernels/onnxruntime/memory_file.h"

#include <fstream>
#include <string>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/support/status_matchers.h"

namespace quotient::kernels::onnxruntime {
namespace {

TEST(MemoryFileTest, HasWhatIsWrittenToItsPathAndWhatIsAppended) {
  ASSERT_OK_AND_ASSIGN(MemoryFile file, MemoryFile::Create());
  std::ofstream(file.path()) << "graph";
  ASSERT_OK_AND_ASSIGN(const auto before, file.Map());
  EXPECT_EQ(std::string(before->bytes()), "graph");
  ASSERT_OK(file.Append(", and more"));
  ASSERT_OK_AND_ASSIGN(const auto after, file.Map());
  EXPECT_EQ(std::string(after->bytes()), "graph, and more");
  EXPECT_EQ(std::string(before->bytes()), "graph") << "a map is of the bytes that there were";
}

TEST(MemoryFileTest, IsEmptyAtFirst) {
  ASSERT_OK_AND_ASSIGN(const MemoryFile file, MemoryFile::Create());
  ASSERT_OK_AND_ASSIGN(const auto bytes, file.Map());
  EXPECT_EQ(bytes->bytes().size(), 0u);
}

TEST(MemoryFileTest, FilesAreApart) {
  ASSERT_OK_AND_ASSIGN(MemoryFile one, MemoryFile::Create());
  ASSERT_OK_AND_ASSIGN(const MemoryFile other, MemoryFile::Create());
  ASSERT_OK(one.Append("one"));
  ASSERT_OK_AND_ASSIGN(const auto bytes, other.Map());
  EXPECT_EQ(bytes->bytes().size(), 0u);
}

}  // namespace
}  // namespace quotient::kernels::onnxruntime
