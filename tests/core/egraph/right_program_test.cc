// Flat right sides against the builder of PatternRule: what each match adds and unites, one by one
// and in batches.

#include "core/egraph/right_program.h"

#include <gtest/gtest.h>

#include <memory>
#include <string>
#include <vector>

#include "absl/strings/match.h"
#include "core/base/rng.h"
#include "core/egraph/pattern.h"
#include "tests/support/egraph/compile_rule.h"
#include "tests/support/egraph/random_terms.h"
#include "tests/support/egraph/symbol_domain.h"

namespace quotient::egraph {
namespace {

class AllMatches : public MatchSink {
 public:
  bool Add(Match match) override {
    matches.push_back(std::move(match));
    return true;
  }
  std::vector<Match> matches;
};

// A match as the words that a RightProgram takes.
std::vector<uint32_t> WordsOf(const Match& match) {
  std::vector<uint32_t> words;
  for (const ClassId id : match.classes) words.push_back(id.value());
  for (const OpId op : match.ops) words.push_back(op.value());
  return words;
}

class RightProgramTest : public ::testing::Test {
 protected:
  std::unique_ptr<Rule> Compiled(absl::string_view text) {
    auto rule = testing::CompileRule(text, vocabulary_);
    EXPECT_TRUE(rule.ok()) << rule.status() << " in " << text;
    return rule.ok() ? *std::move(rule) : nullptr;
  }

  std::optional<RightProgram> ProgramOf(absl::string_view text) {
    const std::unique_ptr<Rule> rule = Compiled(text);
    return RightProgram::Make(*rule->program());
  }

  // A clean graph of random e-nodes, of which some are equal; the same for the same seed.
  std::unique_ptr<EGraph> RandomGraph(uint64_t seed) {
    auto graph = std::make_unique<EGraph>(&table_, nullptr);
    Rng rng(seed);
    std::vector<ClassId> made;
    for (int i = 0; i < 24; ++i) {
      const testing::RandomNode node = testing::MakeRandomNode(rng, made.size());
      std::vector<ClassId> children;
      for (const size_t child : node.children) children.push_back(made[child]);
      made.push_back(*graph->Add(table_.Op(node.word), children));
    }
    for (uint64_t i = rng.Below(3); i > 0; --i) {
      EXPECT_TRUE(graph->Union(made[rng.Below(made.size())], made[rng.Below(made.size())]).ok());
    }
    EXPECT_TRUE(graph->Rebuild().ok());
    return graph;
  }

  testing::SymbolTable table_;
  Vocabulary vocabulary_ = testing::SymbolVocabulary(table_);
};

// Expects graphs that were equal, and since then grew differently, to say the same of the classes
// below `bound`, and to have as many classes and e-nodes.
void ExpectSame(EGraph& a, EGraph& b, uint32_t bound) {
  ASSERT_TRUE(a.Rebuild().ok());
  ASSERT_TRUE(b.Rebuild().ok());
  EXPECT_EQ(a.num_classes(), b.num_classes());
  EXPECT_EQ(a.num_enodes(), b.num_enodes());
  for (uint32_t i = 0; i < bound; ++i) {
    for (uint32_t j = 0; j < i; ++j) {
      EXPECT_EQ(a.Find(ClassId(i)) == a.Find(ClassId(j)), b.Find(ClassId(i)) == b.Find(ClassId(j)))
          << i << " and " << j;
    }
  }
}

TEST_F(RightProgramTest, DoesWhatTheBuilderDoes) {
  RightProgram::Batch batch;
  int compared = 0;
  for (uint64_t seed = 0; seed < 3000; ++seed) {
    Rng rng(seed, 1);
    const std::string text = testing::MakeRandomRule(rng);
    if (absl::StrContains(text, "distinct")) continue;
    const std::unique_ptr<Rule> rule = Compiled(text);
    ASSERT_NE(rule, nullptr);
    const std::optional<RightProgram> program = RightProgram::Make(*rule->program());
    if (!program) continue;
    SCOPED_TRACE(text);
    const auto built = RandomGraph(seed), stepped = RandomGraph(seed), batched = RandomGraph(seed);
    const uint32_t bound = built->class_bound();
    AllMatches found;
    rule->Search(*built, found);
    std::vector<uint32_t> words;
    for (const Match& match : found.matches) {
      const std::vector<uint32_t> one = WordsOf(match);
      ASSERT_EQ(one.size(), program->match_size());
      const absl::StatusOr<bool> expected = rule->Apply(*built, match, 1);
      const absl::StatusOr<bool> actual = program->Apply(*stepped, one, 1);
      ASSERT_TRUE(expected.ok() && actual.ok());
      EXPECT_EQ(*actual, *expected);
      words.insert(words.end(), one.begin(), one.end());
      ++compared;
    }
    for (size_t at = 0; at < words.size();) {
      const size_t most = RightProgram::kMaxBatch * program->match_size();
      const size_t count = std::min(most, words.size() - at);
      ASSERT_TRUE(
          program->ApplyBatch(*batched, std::span(words).subspan(at, count), 1, batch).ok());
      at += count;
    }
    ExpectSame(*built, *stepped, bound);
    ExpectSame(*built, *batched, bound);
    if (HasFailure()) return;
  }
  EXPECT_GT(compared, 1000);
}

TEST_F(RightProgramTest, TakesVariablesWordsAndLets) {
  EXPECT_TRUE(ProgramOf("f(?x) => ?x"));
  EXPECT_TRUE(ProgramOf("f(?x) => g(h(?x, a), p[1](?x))"));
  EXPECT_TRUE(ProgramOf("p[?c](?x) => f(p[?c](?x))"));
  EXPECT_TRUE(ProgramOf("g(?x, ?y), h(?x, ?z) => f(?m), ?m let ?m = g(?y, ?z)"));
}

TEST_F(RightProgramTest, RefusesLists) { EXPECT_FALSE(ProgramOf("k(?xs...) => f(k(?xs...))")); }

TEST_F(RightProgramTest, RefusesBuilders) {
  vocabulary_.term_builders["twice"] = {
      "c",
      [this](EGraph& graph, std::span<const Binding> arguments,
             Origin origin) -> absl::StatusOr<std::optional<ClassId>> {
        const std::vector<ClassId> children(2, arguments[0].id);
        auto added = graph.Add(table_.Op("g"), children, origin);
        if (!added.ok()) return added.status();
        return *added;
      }};
  EXPECT_FALSE(ProgramOf("f(?x) => twice(?x)"));
}

TEST_F(RightProgramTest, SaysWhetherAnythingChanged) {
  EGraph graph(&table_, nullptr);
  const ClassId a = *graph.Add(table_.Op("a"), {});
  const ClassId root = *graph.Add(table_.Op("f"), std::vector<ClassId>{a});
  ASSERT_TRUE(graph.Rebuild().ok());
  const std::optional<RightProgram> program = ProgramOf("f(?x) => h(?x, ?x)");
  ASSERT_TRUE(program);
  const std::vector<uint32_t> match = {root.value(), a.value()};
  EXPECT_TRUE(*program->Apply(graph, match, 1));
  EXPECT_FALSE(*program->Apply(graph, match, 1));
  RightProgram::Batch batch;
  EXPECT_EQ(*program->ApplyBatch(graph, match, 1, batch), 0);
  ASSERT_TRUE(graph.Rebuild().ok());
  const std::vector<ClassId> twice(2, graph.Find(a));
  EXPECT_EQ(graph.Lookup(table_.Op("h"), twice), graph.Find(root));
}

}  // namespace
}  // namespace quotient::egraph
