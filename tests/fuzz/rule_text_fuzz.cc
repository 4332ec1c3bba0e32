// Rule text and terms: any bytes give a rule or an error; a rule that compiles can search and
// apply.

#include <cstddef>
#include <cstdint>
#include <cstdlib>

#include "core/egraph/pattern.h"
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

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const absl::string_view text(reinterpret_cast<const char*>(data), size);
  quotient::testing::SymbolTable table;
  const quotient::egraph::Vocabulary vocabulary = quotient::testing::SymbolVocabulary(table);
  quotient::egraph::EGraph graph(&table, nullptr);
  for (const char* term : {"(f (g a b))", "(k a b c)", "p[1](p[2](a))", "(+ 1 (* x 2))"}) {
    if (!quotient::egraph::AddTerm(graph, term, vocabulary).ok()) std::abort();
  }
  // What the text itself may add.
  quotient::egraph::AddTerm(graph, text, vocabulary).IgnoreError();
  if (!graph.Rebuild().ok()) std::abort();

  const auto rules = quotient::egraph::CompileRules(text, vocabulary);
  if (!rules.ok()) return 0;
  for (const auto& rule : *rules) {
    FewMatches sink;
    rule->Search(graph, sink);
    for (const Match& match : sink.matches) {
      if (!rule->Apply(graph, match, 1).ok()) std::abort();
    }
    if (!graph.Rebuild().ok()) std::abort();
  }
  return 0;
}
