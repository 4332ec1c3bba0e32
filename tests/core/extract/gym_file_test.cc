// The reader of the extraction-gym form, on good and bad text; and its e-graphs of networks.

#include "tests/support/egraph/gym_file.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <fstream>
#include <string>

#include "tests/support/status_matchers.h"

namespace quotient::extract {
namespace {

using ::quotient::testing::ExtractionCase;
using ::quotient::testing::IsOk;
using ::quotient::testing::ParseGymText;
using ::quotient::testing::ReadGymFile;
using ::quotient::testing::StatusIs;
using ::testing::HasSubstr;

// Cost of the best selection of a small problem.
absl::StatusOr<double> BestCost(const std::string& text) {
  QUOTIENT_ASSIGN_OR_RETURN(const ExtractionCase example, ParseGymText(text));
  QUOTIENT_ASSIGN_OR_RETURN(const Selection selection,
                            FindExtractor("dag")->Extract(example.problem(), StopCondition()));
  return CheckSelection(example.problem(), selection);
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
      {"", "parse error"},
      {R"({"nodes": {)", "parse error"},
      {"\x1f\x8b", "parse error"},
      {R"({"nodes": {"\xff": 1}})", "parse error"},
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
      {R"({"nodes": {}})", "root_eclasses: is missing"},
      {R"({"nodes": {}, "root_eclasses": []})", "root_eclasses: is missing, empty"},
      {R"({"nodes": {}, "root_eclasses": [0]})", "root_eclasses: a class is no string"},
  };
  for (const auto& c : cases) {
    SCOPED_TRACE(c.text);
    const absl::Status status = ParseGymText(c.text).status();
    EXPECT_THAT(status, StatusIs(absl::StatusCode::kInvalidArgument));
    EXPECT_THAT(std::string(status.message()), HasSubstr(c.message));
  }
}

TEST(GymFile, LongIdsAreCutInErrors) {
  const std::string id(100'000, 'x');
  const absl::Status status = ParseGymText(Rooted("\"" + id + "\": 1")).status();
  EXPECT_LT(status.message().size(), 200u);
}

TEST(GymFile, VeryLongTextIsRefusedUnread) {
  const absl::Status status = ParseGymText(std::string((size_t{1} << 27) + 1, ' ')).status();
  EXPECT_THAT(std::string(status.message()), HasSubstr("is longer than"));
}

TEST(GymFile, DepthCostsNoStack) {
  const std::string deep(1'000'000, '[');
  const std::string closed = deep + std::string(deep.size(), ']');
  EXPECT_THAT(ParseGymText(deep), StatusIs(absl::StatusCode::kInvalidArgument));
  EXPECT_THAT(ParseGymText(closed), StatusIs(absl::StatusCode::kInvalidArgument));
  EXPECT_THAT(ParseGymText(Rooted(R"("n": {"op": "x", "eclass": "r", "more": )" + closed + "}")),
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
  EXPECT_THAT(ReadGymFile(::testing::TempDir()), StatusIs(absl::StatusCode::kDataLoss));
}

TEST_F(GymFileOnDisk, DamagedCompressionIsFound) {
  std::ifstream file("tests/data/egraphs/tensat/vgg_acyclic.json.gz", std::ios::binary);
  const std::string whole(std::istreambuf_iterator<char>(file), {});
  ASSERT_GT(whole.size(), 1000u);
  EXPECT_THAT(ReadBytes(whole.substr(0, 1000)), StatusIs(absl::StatusCode::kDataLoss));
  std::string changed = whole;
  changed[1000] ^= 1;
  EXPECT_THAT(ReadBytes(changed), StatusIs(absl::StatusCode::kDataLoss));
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
  ASSERT_OK_AND_ASSIGN(
      const ExtractionCase example,
      ReadGymFile(std::string("tests/data/egraphs/tensat/") + network.name + ".json.gz"));
  const Problem problem = example.problem();
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
                                           Network{"vgg_acyclic", 112, 96, 4.86678}),
                         [](const auto& info) { return info.param.name; });

}  // namespace
}  // namespace quotient::extract
