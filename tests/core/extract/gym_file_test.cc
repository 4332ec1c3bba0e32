// The reader of the extraction-gym form, on good and bad text; and its e-graphs of networks.

#include "tests/support/egraph/gym_file.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/resource.h>

#include <fstream>
#include <string>

#include "tests/support/status_matchers.h"

namespace quotient::extract {
namespace {

using ::quotient::testing::GymFile;
using ::quotient::testing::IsOk;
using ::quotient::testing::ParseGymText;
using ::quotient::testing::ReadGymFile;
using ::quotient::testing::StatusIs;
using ::testing::HasSubstr;
using ::testing::Not;

// Cost of the best selection of a small problem.
absl::StatusOr<double> BestCost(const std::string& text) {
  QUOTIENT_ASSIGN_OR_RETURN(const GymFile file, ParseGymText(text));
  QUOTIENT_ASSIGN_OR_RETURN(const Selection selection,
                            FindExtractor("dag")->Extract(file.problem(), StopCondition()));
  return CheckSelection(file.problem(), selection);
}

// A file with these nodes and the root "r".
std::string Rooted(const std::string& nodes) {
  return R"({"nodes": {)" + nodes + R"(}, "root_eclasses": ["r"]})";
}

TEST(GymFile, ReadsWhatTheFormCanSay) {
  struct {
    const char* what;
    std::string text;
    double best_cost;
  } const cases[] = {
      {"a leaf", Rooted(R"("n": {"op": "x", "cost": 2.5, "eclass": "r", "children": []})"), 2.5},
      {"an integer cost", Rooted(R"("n": {"op": "x", "cost": 3, "eclass": "r"})"), 3},
      {"no cost is 1", Rooted(R"("n": {"op": "x", "eclass": "r"})"), 1},
      {"null is infinity", Rooted(R"("n": {"op": "x", "cost": null, "eclass": "r"},
                                     "m": {"op": "x", "cost": 7, "eclass": "r"})"),
       7},
      {"a child is its class's, whichever of it is named",
       Rooted(R"("a0": {"op": "a", "cost": 9, "eclass": "a"},
                 "a1": {"op": "b", "cost": 2, "eclass": "a"},
                 "n": {"op": "f", "cost": 1, "eclass": "r", "children": ["a0", "a0"]})"),
       3},
      {"equal e-nodes stay apart", Rooted(R"("a": {"op": "x", "cost": 2, "eclass": "a"},
                 "b": {"op": "x", "cost": 4, "eclass": "b"},
                 "n": {"op": "f", "cost": 1, "eclass": "r", "children": ["a", "b"]})"),
       7},
      {"a cycle", Rooted(R"("l": {"op": "f", "cost": 0, "eclass": "r", "children": ["m"]},
                 "m": {"op": "g", "cost": 0, "eclass": "q", "children": ["l"]},
                 "n": {"op": "x", "cost": 4, "eclass": "r"})"),
       4},
      {"other fields", R"({"nodes": {"n": {"op": "x", "cost": 1, "eclass": "r", "subsumed": true}},
                 "root_eclasses": ["r", "r"], "class_data": {"r": {"type": "t"}}})",
       1},
  };
  for (const auto& c : cases) {
    SCOPED_TRACE(c.what);
    const absl::StatusOr<double> cost = BestCost(c.text);
    EXPECT_THAT(cost, IsOk());
    EXPECT_DOUBLE_EQ(cost.value_or(-1), c.best_cost);
  }
}

TEST(GymFile, NamesWhatIsWrong) {
  struct {
    std::string text;
    const char* message;
  } const cases[] = {
      {"", "is empty"},
      {R"({"nodes": {)", "parse error"},
      {"\x1f\x8b", "parse error"},
      {R"({"nodes": {"\xff": 1}})", "parse error"},
      {"{", "parse error at line 1, column 2"},
      {"{\"a\": x}",
       "parse error at line 1, column 7: syntax error while parsing value - invalid "
       "literal; last read: '\"a\": x'"},
      {"[]", "nodes: is missing or no object"},
      {R"({"root_eclasses": ["r"]})", "nodes: is missing or no object"},
      {R"({"nodes": [], "root_eclasses": ["r"]})", "nodes: is missing or no object"},
      {Rooted(R"("n": "x")"), "node \"n\": is no object"},
      {Rooted(R"("n": {"eclass": "r"})"), "node \"n\": op is missing"},
      {Rooted(R"("n": {"op": "x"})"), "node \"n\": eclass is missing"},
      {Rooted(R"("n": {"op": "x", "eclass": 1})"), "node \"n\": eclass is missing or no string"},
      {Rooted(R"("n": {"op": "x", "eclass": "r", "cost": "1"})"), "node \"n\": cost is no number"},
      {Rooted(R"("n": {"op": "x", "eclass": "r", "cost": -1})"), "node \"n\": cost is negative"},
      {Rooted(R"("n": {"op": "x", "eclass": "r", "cost": 1e999})"), "number overflow"},
      {Rooted(R"("n": {"op": "x", "eclass": "r", "cost": NaN})"), "parse error"},
      {Rooted(R"("m": {"op": "x", "eclass": "r", "cost": 1e308},
                 "n": {"op": "x", "eclass": "r", "cost": 1e308})"),
       "the sum of the costs"},
      {Rooted(R"("n": {"op": "x", "eclass": "r", "children": {}})"), "children is no array"},
      {Rooted(R"("n": {"op": "x", "eclass": "r", "children": [0]})"), "a child is no string"},
      {Rooted(R"("n": {"op": "x", "eclass": "r", "children": ["r"]})"),
       "node \"n\": unknown child \"r\""},
      {Rooted(R"("n": {"op": "x", "eclass": "c"})"), "root_eclasses: unknown class \"r\""},
      {Rooted(R"("n": {"op": "x", "eclass": "r"}, "n": {"op": "y", "eclass": "r"})"),
       "\"nodes\": key \"n\" is there twice"},
      {Rooted(R"("n": {"op": "x", "eclass": "r", "op": "y"})"), "\"n\": key \"op\" is there twice"},
      {R"({"nodes": {}, "nodes": {}})", "key \"nodes\" is there twice"},
      {R"({"nodes": {}})", "root_eclasses: is missing"},
      {R"({"nodes": {}, "root_eclasses": []})", "root_eclasses: is missing, empty"},
      {R"({"nodes": {}, "root_eclasses": [0]})", "root_eclasses: a class is no string"},
  };
  for (const auto& c : cases) {
    SCOPED_TRACE(c.text);
    const absl::Status status = ParseGymText(c.text).status();
    EXPECT_THAT(status, StatusIs(absl::StatusCode::kInvalidArgument));
    EXPECT_THAT(std::string(status.message()), HasSubstr(c.message));
    EXPECT_THAT(std::string(status.message()), Not(HasSubstr("json.exception")));
  }
}

TEST(GymFile, TheSameKeyInDifferentObjectsIsFine) {
  EXPECT_THAT(ParseGymText(Rooted(R"("op": {"op": "x", "eclass": "r", "x": {"op": 1}},
                                     "cost": {"op": "x", "eclass": "q"})")),
              IsOk());
}

TEST(GymFile, RootsHaveTheNamesOfTheFile) {
  ASSERT_OK_AND_ASSIGN(const GymFile file,
                       ParseGymText(R"({"nodes": {"a": {"op": "x", "eclass": "q"},
                                                  "b": {"op": "x", "eclass": "p"}},
                                        "root_eclasses": ["p", "q"]})"));
  EXPECT_EQ(file.roots, (std::vector<std::string>{"p", "q"}));
  EXPECT_EQ(file.problem().roots.size(), 2u);
}

TEST(GymFile, LongIdsAreCutInErrors) {
  const std::string id(100'000, 'x');
  const absl::Status status = ParseGymText(Rooted("\"" + id + "\": 1")).status();
  EXPECT_LT(status.message().size(), 200u);
  EXPECT_LT(ParseGymText("{\"" + id).status().message().size(), 400u);
}

TEST(GymFile, VeryLongTextIsRefusedUnread) {
  const absl::Status status = ParseGymText(std::string((size_t{1} << 27) + 1, ' ')).status();
  EXPECT_THAT(std::string(status.message()), HasSubstr("is longer than"));
}

int64_t PeakBytes() {
  struct rusage usage;
  getrusage(RUSAGE_SELF, &usage);
  return int64_t{usage.ru_maxrss} << 10;
}

// Nothing of it is stored: so many brackets would take two GB.
TEST(GymFile, DepthIsRefusedAtOnce) {
  const std::string brackets(30'000'000, '[');
  const std::string inside = Rooted(R"("n": {"op": "x", "eclass": "r", "more": )" + brackets);
  const int64_t peak_before = PeakBytes();
  for (const std::string* text : {&brackets, &inside}) {
    const absl::Status status = ParseGymText(*text).status();
    EXPECT_THAT(status, StatusIs(absl::StatusCode::kInvalidArgument));
    EXPECT_THAT(std::string(status.message()), HasSubstr("more than 16 deep"));
  }
  EXPECT_LT(PeakBytes() - peak_before, 100'000'000);
}

TEST(GymFile, WhatIsSkippedMayBeNested) {
  EXPECT_THAT(ParseGymText(Rooted(R"("n": {"op": "x", "eclass": "r", "more": [[{"a": [1]}]]})")),
              IsOk());
}

class GymFileOnDisk : public ::testing::Test {
 protected:
  absl::Status ReadBytes(const std::string& bytes) {
    std::ofstream(path_, std::ios::binary) << bytes;
    return ReadGymFile(path_).status();
  }
  const std::string path_ = ::testing::TempDir() + "gym_file_test.json";
};

TEST_F(GymFileOnDisk, NeedsNoCompression) {
  EXPECT_THAT(ReadBytes(Rooted(R"("n": {"op": "x", "eclass": "r"})")), IsOk());
}

TEST_F(GymFileOnDisk, ErrorsNameTheFile) {
  const absl::Status malformed = ReadBytes("{");
  EXPECT_THAT(malformed, StatusIs(absl::StatusCode::kInvalidArgument));
  EXPECT_THAT(std::string(malformed.message()), HasSubstr(path_));
  const absl::Status missing = ReadGymFile("/nowhere/x.json").status();
  EXPECT_THAT(missing, StatusIs(absl::StatusCode::kNotFound));
  EXPECT_THAT(std::string(missing.message()), HasSubstr("/nowhere/x.json: No such file"));
  const absl::Status directory = ReadGymFile(::testing::TempDir()).status();
  EXPECT_THAT(directory, StatusIs(absl::StatusCode::kNotFound));
  EXPECT_EQ(directory.message(), ::testing::TempDir() + ": is a directory");
  EXPECT_EQ(ReadBytes("").message(), path_ + ": is empty");
}

std::string Compressed() {
  std::ifstream file("tests/data/egraphs/tensat/vgg_acyclic.json.gz", std::ios::binary);
  return std::string(std::istreambuf_iterator<char>(file), {});
}

TEST_F(GymFileOnDisk, DamagedCompressionIsFound) {
  const std::string whole = Compressed();
  ASSERT_GT(whole.size(), 1000u);
  std::string changed = whole;
  changed[1000] ^= 1;
  struct {
    std::string bytes;
    const char* message;
  } const cases[] = {
      {whole.substr(0, 1000), "ends too early"},
      {whole.substr(0, 5), "ends too early"},
      {changed, "is damaged"},
      {whole + "garbage", "is followed by something else"},
      {whole + whole.substr(0, 1000), "ends too early"},
  };
  for (const auto& c : cases) {
    const absl::Status status = ReadBytes(c.bytes);
    EXPECT_THAT(status, StatusIs(absl::StatusCode::kDataLoss));
    EXPECT_EQ(status.message().find(path_), 0u);
    EXPECT_EQ(status.message().rfind(path_), 0u) << "said once";
    EXPECT_THAT(std::string(status.message()), HasSubstr(c.message));
  }
}

// As gzip and cat make it.
TEST_F(GymFileOnDisk, SeveralCompressedPiecesAreOneText) {
  const std::string whole = Compressed();
  const std::string empty = std::string("\x1f\x8b\x08\0\0\0\0\0\0\x03\x03\0\0\0\0\0\0\0\0\0", 20);
  EXPECT_THAT(ReadBytes(whole + empty), IsOk());
  EXPECT_EQ(ReadBytes(empty).message(), path_ + ": is empty");
}

struct Network {
  const char* name;
  int64_t num_enodes;
  int64_t num_classes;
  double best_known;
};

class GymNetwork : public ::testing::TestWithParam<Network> {};

TEST_P(GymNetwork, IsReadWholeAndExtractedAsWellAsEverBefore) {
  const Network& network = GetParam();
  ASSERT_OK_AND_ASSIGN(const GymFile file, ReadGymFile(std::string("tests/data/egraphs/tensat/") +
                                                       network.name + ".json.gz"));
  const Problem problem = file.problem();
  EXPECT_EQ(problem.graph.num_classes(), network.num_classes);
  // One more e-node stands for each class.
  EXPECT_EQ(problem.graph.num_enodes(), network.num_enodes + network.num_classes);

  for (const Extractor* extractor : AllExtractors()) {
    SCOPED_TRACE(extractor->name());
    const StopCondition stop = StopCondition().WithBudget(Clock::System(), 5);
    ASSERT_OK_AND_ASSIGN(const Selection selection, extractor->Extract(problem, stop));
    ASSERT_OK_AND_ASSIGN(const double cost, CheckSelection(problem, selection));
    EXPECT_NEAR(cost, selection.cost, 1e-9);
    EXPECT_LE(selection.lower_bound, network.best_known + 1e-5);
  }
  ASSERT_OK_AND_ASSIGN(const Selection dag,
                       FindExtractor("dag")->Extract(problem, StopCondition()));
  EXPECT_LE(dag.cost, network.best_known + 1e-5);
}

INSTANTIATE_TEST_SUITE_P(Tensat, GymNetwork,
                         ::testing::Values(Network{"bert", 20244, 7315, 0.72372},
                                           Network{"bert_acyclic", 20244, 7315, 0.72091},
                                           Network{"resnet50", 4350, 2656, 4.38579},
                                           Network{"resnet50_acyclic", 266, 242, 4.41599},
                                           Network{"vgg", 2726, 1408, 4.85076},
                                           Network{"vgg_acyclic", 112, 96, 4.86677}),
                         [](const auto& info) { return info.param.name; });

}  // namespace
}  // namespace quotient::extract
