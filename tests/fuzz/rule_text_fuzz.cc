// Rule text and terms: any bytes give a rule or an error; a rule that compiles can search and
// apply, also with others by the matcher, and what it did can be taken back to the byte.

#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <vector>

#include "core/egraph/matcher.h"
#include "core/egraph/pattern.h"
#include "tests/fuzz/understood.h"
#include "tests/support/egraph/apply_all.h"
#include "tests/support/egraph/state_image.h"
#include "tests/support/egraph/symbol_domain.h"

namespace {

using quotient::egraph::Match;

class FewMatches : public quotient::egraph::MatchSink {
 public:
  bool Add(Match match) override {
    matches.push_back(std::move(match));
    return matches.size() < 100;
  }
  std::vector<Match> matches;
};

void Check(bool holds) {
  if (!holds) std::abort();
}

// One step of all rules together, and back.
void GoAndComeBack(quotient::egraph::EGraph& graph, quotient::egraph::Matcher& matcher,
                   size_t num_rules) {
  quotient::egraph::Matcher::Bounds bounds;
  bounds.waiting.assign(num_rules, 20);
  const std::vector<uint32_t> before = quotient::testing::ImageOf(graph);
  std::vector<uint32_t> after;
  for (int i = 0; i < 2; ++i) {
    graph.Mark();
    matcher.Mark();
    matcher.Search(graph, bounds);
    Check(quotient::testing::ApplyAll(matcher, num_rules, graph).ok());
    Check(graph.Rebuild().ok());
    if (i == 0) after = quotient::testing::ImageOf(graph);
    Check(quotient::testing::ImageOf(graph) == after);
    graph.Rollback();
    matcher.Rollback();
    Check(quotient::testing::ImageOf(graph) == before);
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const absl::string_view text(reinterpret_cast<const char*>(data), size);
  quotient::testing::SymbolTable table;
  const quotient::egraph::Vocabulary vocabulary = quotient::testing::SymbolVocabulary(table);
  quotient::egraph::EGraph graph(&table, nullptr);
  for (const char* term : {"(f (g a b))", "(k a b c)", "p[1](p[2](a))", "(+ 1 (* x 2))"}) {
    Check(quotient::egraph::AddTerm(graph, term, vocabulary).ok());
  }
  // What the text itself may add.
  quotient::egraph::AddTerm(graph, text, vocabulary).IgnoreError();
  Check(graph.Rebuild().ok());

  const auto rules = quotient::egraph::CompileRules(text, vocabulary);
  if (!rules.ok()) return 0;
  quotient::testing::NoteUnderstood();
  std::vector<const quotient::egraph::Rule*> pointers;
  for (const auto& rule : *rules) pointers.push_back(rule.get());
  quotient::egraph::Matcher matcher(table, pointers);
  GoAndComeBack(graph, matcher, pointers.size());
  for (const auto& rule : *rules) {
    FewMatches sink;
    rule->Search(graph, sink);
    for (const Match& match : sink.matches) {
      Check(rule->Apply(graph, match, 1).ok());
    }
    Check(graph.Rebuild().ok());
  }
  GoAndComeBack(graph, matcher, pointers.size());
  return 0;
}
