#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_replace.h"
#include "absl/strings/str_split.h"
#include "core/base/digest.h"
#include "core/base/reason.h"
#include "core/journal/journal.h"
#include "tests/support/status_matchers.h"

namespace quotient::journal {
namespace {

using ::quotient::testing::HasReason;
using ::testing::HasSubstr;

Place Value(std::string name) { return {.name = std::move(name)}; }
Place Made(uint32_t rewrite, uint32_t index) {
  return {.sort = Place::Sort::kMade, .rewrite = rewrite, .index = index};
}

Journal Example() {
  Journal::Derivation derivation = {
      .preparation = {.shapes = {{"x", {1, 3}}},
                      .measure_shapes = {{"x", {1, 3}}, {"n", {}}},
                      .kept_values = {"a"},
                      .max_folded_bytes = 1 << 20,
                      .max_opset = 20,
                      .external_location = "out.onnx.data"},
      .rewriting = {.rewrites = {{.rule = "conv-relu", .at = {Value("y"), Value("x")}},
                                 {.rule = "two",
                                  .at = {Made(0, 1), {.sort = Place::Sort::kAbsent}},
                                  .alternative = 1,
                                  .which = 2,
                                  .found_after = 0},
                                 {.rule = "two",
                                  .at = {{.sort = Place::Sort::kNode, .name = "tuple"}},
                                  .found_after = 2}},
                    .chosen = {Made(1, 0), Value("y")},
                    .splits = {{Value("s0"), Value("s1")}}},
      .model = BlobId::Of("result"),
      .external_data = BlobId::Of("weights")};
  return {.engine = "1.2.3+abc",
          .model = BlobId::Of("model"),
          .derivation = std::move(derivation),
          .remarks = {.device = "model:h200",
                      .max_relative_error = 1e-7,
                      .tolerance = 1e-3,
                      .inputs = 4,
                      .savings = {{{"conv-relu", "two"}, {"Conv_0"}, 12.25}}}};
}

// The text with its last line made anew, as somebody would who wants it to be believed.
std::string Sealed(absl::string_view text) {
  std::vector<std::string> lines = absl::StrSplit(text, '\n');
  lines.resize(lines.size() - 2);
  const std::string others = absl::StrCat(absl::StrJoin(lines, "\n"), "\n");
  return absl::StrCat(others, "{\"sha256\":\"", Digest::Of(others).Hex(), "\"}\n");
}

// The journal, written and read.
Journal Again(const Journal& journal) {
  const absl::StatusOr<Journal> read = FromText(ToText(journal));
  EXPECT_OK(read.status());
  return read.value_or(Journal());
}

TEST(JournalTextTest, IsReadAsItWasWritten) {
  EXPECT_EQ(Again(Example()), Example());
  EXPECT_EQ(Sealed(ToText(Example())), ToText(Example()));
  Journal untouched = Example();
  untouched.derivation.reset();
  EXPECT_EQ(Again(untouched), untouched);
}

// The form that other programs and FORMAT.md rely on.
TEST(JournalTextTest, IsOneObjectPerLine) {
  const std::string text = ToText(Example());
  const std::vector<std::string> lines = absl::StrSplit(text, '\n');
  EXPECT_EQ(lines[0], absl::StrCat("{\"quotient_journal\":1,\"engine\":\"1.2.3+abc\",\"model\":\"",
                                   BlobId::Of("model").Text(), "\",\"outcome\":\"improved\"}"));
  EXPECT_THAT(lines[1], HasSubstr("{\"preparation\":{\"shapes\":{\"x\":[1,3]}"));
  EXPECT_EQ(lines[2], "{\"rule\":\"conv-relu\",\"at\":[\"y\",\"x\"]}");
  EXPECT_EQ(
      lines[3],
      "{\"rule\":\"two\",\"at\":[[0,1],null],\"alternative\":1,\"which\":2,\"found_after\":0}");
  EXPECT_EQ(lines[4], "{\"rule\":\"two\",\"at\":[{\"node\":\"tuple\"}]}");
  EXPECT_EQ(lines[5], "{\"graph\":{\"chosen\":[[1,0],\"y\"],\"splits\":[[\"s0\",\"s1\"]]}}");
  EXPECT_THAT(lines[6], HasSubstr("{\"result\":{\"model\":"));
}

TEST(JournalTextTest, NamesAreAnyBytes) {
  Journal journal = Example();
  const std::string odd("\"\\\n\t\xff\xc3\xa9 [0,1] \0 null", 21);
  journal.derivation->rewriting.rewrites[0].at = {Value(odd)};
  journal.derivation->preparation.kept_values = {odd};
  journal.derivation->preparation.shapes = {{odd, {1}}};
  EXPECT_EQ(Again(journal), journal);
}

TEST(JournalTextTest, WhateverIsDamagedIsRefused) {
  const std::string text = ToText(Example());
  for (size_t i = 0; i < text.size(); ++i) {
    EXPECT_THAT(FromText(text.substr(0, i)), HasReason(Reason::kJournalInvalid)) << i;
    std::string flipped = text;
    flipped[i] = static_cast<char>(flipped[i] ^ 1);
    EXPECT_THAT(FromText(flipped), HasReason(Reason::kJournalInvalid)) << i;
  }
  EXPECT_THAT(FromText(text + text), HasReason(Reason::kJournalInvalid));
  EXPECT_THAT(FromText(text + "\n"), HasReason(Reason::kJournalInvalid));
}

TEST(JournalTextTest, ALineThatIsMissingOrTwiceThereIsRefused) {
  const std::vector<std::string> lines = absl::StrSplit(ToText(Example()), '\n');
  // Leaving out a rewrite makes another journal, which is read.
  const auto is_free = [](const std::string& line) {
    return line.find("\"rule\"") != std::string::npos;
  };
  for (size_t i = 0; i + 2 < lines.size(); ++i) {
    std::vector<std::string> fewer = lines, more = lines;
    fewer.erase(fewer.begin() + static_cast<std::ptrdiff_t>(i));
    more.insert(more.begin() + static_cast<std::ptrdiff_t>(i), lines[i]);
    if (!is_free(lines[i])) {
      EXPECT_THAT(FromText(Sealed(absl::StrJoin(fewer, "\n"))), HasReason(Reason::kJournalInvalid));
      EXPECT_THAT(FromText(Sealed(absl::StrJoin(more, "\n"))), HasReason(Reason::kJournalInvalid));
    }
  }
}

TEST(JournalTextTest, TheSameInOtherWordsIsRefused) {
  const std::string text = ToText(Example());
  const std::pair<const char*, const char*> changes[] = {
      {"\"quotient_journal\":1", "\"quotient_journal\":2"},
      {"\"quotient_journal\":1", "\"quotient_journal\":-1"},
      {"\"quotient_journal\":1", "\"quotient_journal\":1.0"},
      {"\"outcome\":\"improved\"", "\"outcome\":\"better\""},
      {"\"at\":[\"y\"", "\"at\":[ \"y\""},
      {"[0,1]", "[0,1,2]"},
      {"[0,1]", "[0,-1]"},
      {"[0,1]", "[0,4294967296]"},
      {"[0,1]", "[0,1e300]"},
      {"[0,1]", "[[[[[]]]]]"},
      {"[0,1]", "true"},
      {"\"alternative\":1", "\"alternative\":0"},
      {"\"max_opset\":20", "\"max_opset\":99999999999999999999"},
      {"\"max_opset\":20", "\"max_opset\":-1"},
      {"\"max_opset\":20", "\"max_opset\":\"20\""},
      {"\"max_opset\":20", "\"max_opset\":20,\"more\":1"},
      {"\"freeze_initializers\":false", "\"freeze_initializers\":0"},
      {"{\"node\":\"tuple\"}", "{}"},
      {"{\"node\":\"tuple\"}", "{\"node\":1}"},
      {"{\"node\":\"tuple\"}", "\"\\\\q\""},
      {"\"inputs\":4", "\"inputs\":null"},
      {"{\"remarks\"", "[\"remarks\""},
      {"12.25", "12.250"},
  };
  for (const auto& [from, to] : changes) {
    const std::string changed = absl::StrReplaceAll(text, {{from, to}});
    ASSERT_NE(changed, text) << from;
    EXPECT_THAT(FromText(Sealed(changed)), HasReason(Reason::kJournalInvalid)) << to;
  }
  EXPECT_THAT(FromText(Sealed(absl::StrReplaceAll(text, {{"[0,1]", "[0,\"1\"]"}}))),
              HasReason(Reason::kJournalInvalid, HasSubstr("line 4")));
}

}  // namespace
}  // namespace quotient::journal
