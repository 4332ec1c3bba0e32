#include "core/search/field_stream.h"

#include <gtest/gtest.h>

#include <limits>
#include <string>
#include <vector>

namespace quotient::search {
namespace {

constexpr uint64_t kMost = std::numeric_limits<uint64_t>::max();
constexpr double kInfinity = std::numeric_limits<double>::infinity();

struct Fields {
  bool flag = true;
  uint16_t small = 300;
  int64_t large = int64_t{1} << 60;
  uint64_t word = kMost - 1;
  double real = -0.1;
  std::vector<uint32_t> list = {1, 200, 0xffffffffu};
};

template <typename Self, typename Stream>
void VisitFields(Self& fields, Stream& stream) {
  stream.Number(fields.flag, 1);
  stream.Number(fields.small, 300);
  stream.Number(fields.large, uint64_t{1} << 60);
  stream.Word(fields.word);
  stream.Real(fields.real, -1, 1);
  stream.List(fields.list, 1, [&stream](auto& item) { stream.Number(item, 0xffffffffu); });
}

std::string Written(const Fields& fields) {
  FieldWriter writer;
  VisitFields(fields, writer);
  return writer.Take();
}

TEST(FieldStream, ReadsWhatWasWritten) {
  const std::string bytes = Written({});
  Fields fields = {false, 0, 0, 0, 0, {}};
  FieldReader reader(bytes);
  VisitFields(fields, reader);
  EXPECT_TRUE(reader.done());
  EXPECT_TRUE(fields.flag);
  EXPECT_EQ(fields.small, 300);
  EXPECT_EQ(fields.large, int64_t{1} << 60);
  EXPECT_EQ(fields.word, kMost - 1);
  EXPECT_EQ(fields.real, -0.1);
  EXPECT_EQ(fields.list, (std::vector<uint32_t>{1, 200, 0xffffffffu}));
}

TEST(FieldStream, NoPieceOfItIsTakenForTheWhole) {
  const std::string bytes = Written({});
  for (size_t size = 0; size < bytes.size(); ++size) {
    Fields fields;
    FieldReader reader(absl::string_view(bytes).substr(0, size));
    VisitFields(fields, reader);
    EXPECT_FALSE(reader.done()) << size;
    EXPECT_TRUE(fields.list.empty()) << size;
  }
  Fields fields;
  const std::string more = bytes + '\0';
  FieldReader reader(more);
  VisitFields(fields, reader);
  EXPECT_TRUE(reader.ok());
  EXPECT_FALSE(reader.done());
}

TEST(FieldStream, WhatIsOutOfItsRangeIsRefused) {
  FieldWriter writer;
  writer.Number(7, kMost);
  writer.Real(kInfinity, 0, 0);
  const std::string bytes = writer.Take();
  uint64_t number = 1;
  double real = 1;
  FieldReader enough(bytes);
  enough.Number(number, 7);
  enough.Real(real, 0, kInfinity);
  EXPECT_TRUE(enough.done());
  EXPECT_EQ(number, 7u);
  EXPECT_EQ(real, kInfinity);
  FieldReader too_large(bytes);
  too_large.Number(number, 6);
  EXPECT_FALSE(too_large.ok());
  EXPECT_EQ(number, 0u);
  FieldReader too_far(absl::string_view(bytes).substr(1));
  too_far.Real(real, 0, 1e300);
  EXPECT_FALSE(too_far.ok());
  EXPECT_EQ(real, 0);
}

TEST(FieldStream, NoNumberIsRefused) {
  FieldWriter writer;
  writer.Real(std::numeric_limits<double>::quiet_NaN(), 0, 0);
  const std::string bytes = writer.Take();
  double real = 1;
  FieldReader reader(bytes);
  reader.Real(real, -kInfinity, kInfinity);
  EXPECT_FALSE(reader.ok());
}

TEST(FieldStream, ANumberThatDoesNotEndIsRefused) {
  const std::string bytes(11, '\xff');
  uint64_t number = 1;
  FieldReader reader(bytes);
  reader.Number(number, kMost);
  EXPECT_FALSE(reader.ok());
}

// A list that cannot fit in the bytes is refused before memory is allocated for it.
TEST(FieldStream, AListIsNoLongerThanItsBytes) {
  FieldWriter writer;
  writer.Number(uint64_t{1} << 50, kMost);
  const std::string bytes = writer.Take() + std::string(100, '\1');
  std::vector<uint64_t> list;
  FieldReader reader(bytes);
  reader.List(list, 1, [&reader](uint64_t& item) { reader.Number(item, kMost); });
  EXPECT_FALSE(reader.ok());
  EXPECT_TRUE(list.empty());
  EXPECT_EQ(list.capacity(), 0u);
}

}  // namespace
}  // namespace quotient::search
