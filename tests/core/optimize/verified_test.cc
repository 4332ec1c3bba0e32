#include "core/optimize/verified.h"

#include <gtest/gtest.h>

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "core/ops/infer_graph.h"
#include "tests/support/fake_backend.h"
#include "tests/support/graphs.h"
#include "tests/support/status_matchers.h"

namespace quotient::optimize {
namespace {

model::Graph GraphOf(absl::string_view nodes) {
  model::Graph graph =
      testing::MustParse(absl::StrCat("graph g { input x: float32[4,4]\n", nodes, "\noutput y }"));
  EXPECT_OK(ops::InferTypes(graph));
  return graph;
}

Packaged PackagedFrom(absl::string_view nodes, double cost_us = 1) {
  auto written = std::make_shared<WrittenCandidate>();
  written->model.bytes = std::string(nodes);
  Packaged packaged;
  packaged.written = std::move(written);
  packaged.prepared.model.graph = GraphOf(nodes);
  packaged.prepared.cut = *verify::Cut(packaged.prepared.model.graph);
  packaged.cost.total_us = cost_us;
  return packaged;
}

constexpr char kRight[] = "y = Relu(x)";
constexpr char kAlsoRight[] = R"(a = Relu(x)
                                 y = Relu(a))";
constexpr char kWrong[] = "y = Neg(x)";

class CompareTest : public ::testing::Test {
 protected:
  Compared CompareAll(const std::vector<const char*>& graphs, size_t most,
                      const StopCondition& enough = {}, const IsNeedless& is_needless = {}) {
    std::vector<Packaged> candidates;
    for (const char* nodes : graphs) candidates.push_back(PackagedFrom(nodes));
    const Packaged original = PackagedFrom(kRight);
    auto checker = verify::Checker::Create({&original.prepared.model.graph, &original.prepared.cut},
                                           {}, {}, {});
    EXPECT_OK(checker.status());
    return Compare(*checker, std::move(candidates), most, enough, {}, is_needless);
  }

  static std::vector<std::string> NodesOf(const std::vector<Verified>& candidates) {
    std::vector<std::string> nodes;
    for (const Verified& each : candidates) nodes.push_back(each.packaged.written->model.bytes);
    return nodes;
  }
};

TEST_F(CompareTest, EndsWhenEnoughAgree) {
  const Compared compared = CompareAll({kWrong, kRight, kAlsoRight}, 1);
  EXPECT_EQ(NodesOf(compared.agreeing), std::vector<std::string>{kRight});
  EXPECT_EQ(compared.refused.size(), 1u);
}

// One that takes the same time as another is compared only if that one was refused.
TEST_F(CompareTest, ATwinOfARefusedOneIsTriedInItsPlace) {
  const auto is_twin = [](const Packaged&, const std::vector<Verified>& agreeing) {
    return !agreeing.empty();
  };
  const Compared compared = CompareAll({kWrong, kRight, kAlsoRight}, 9, {}, is_twin);
  EXPECT_EQ(NodesOf(compared.agreeing), std::vector<std::string>{kRight});
  EXPECT_EQ(compared.refused.size(), 1u);
}

TEST_F(CompareTest, WhenTimeIsShortOneThatAgreesIsEnough) {
  kernels::fake::FakeClock clock;
  const StopCondition past(nullptr, clock, -1);
  EXPECT_EQ(NodesOf(CompareAll({kWrong, kRight, kAlsoRight}, 9, past).agreeing),
            std::vector<std::string>{kRight});
  EXPECT_EQ(CompareAll({kWrong, kRight, kAlsoRight}, 9).agreeing.size(), 2u);
}

TEST(AddNew, KeepsTheCheapestAndNoneTwice) {
  const auto with = [](const char* nodes, double cost_us) {
    return Verified{PackagedFrom(nodes, cost_us), {}};
  };
  std::vector<Verified> candidates;
  candidates.push_back(with(kRight, 3));
  std::vector<Verified> more;
  more.push_back(with(kRight, 3));
  more.push_back(with(kAlsoRight, 2));
  more.push_back(with(kWrong, 1));
  AddNew(std::move(more), 2, &candidates);
  ASSERT_EQ(candidates.size(), 2u);
  EXPECT_EQ(candidates[0].packaged.cost.total_us, 1);
  EXPECT_EQ(candidates[1].packaged.cost.total_us, 2);
}

}  // namespace
}  // namespace quotient::optimize
