// The table of strategies.

#include "core/search/backtrack.h"
#include "core/search/mcts.h"
#include "core/search/pact.h"
#include "core/search/saturate.h"
#include "core/search/strategy.h"

namespace quotient::search {
namespace {

std::span<const Strategy* const> All() {
  static const MctsStrategy mcts;
  static const SaturateStrategy saturate;
  static const PactStrategy pact;
  static const PactStrategy pact_ilp(PactParameters(), PactStrategy::Valuation::kIlp);
  static const BacktrackStrategy backtrack;
  static const Strategy* const all[] = {&mcts, &saturate, &pact, &pact_ilp, &backtrack};
  return all;
}

}  // namespace

const Strategy* FindStrategy(absl::string_view name) {
  for (const Strategy* strategy : All()) {
    if (strategy->name() == name) return strategy;
  }
  return nullptr;
}

std::vector<std::string> StrategyNames() {
  std::vector<std::string> names;
  for (const Strategy* strategy : All()) names.emplace_back(strategy->name());
  return names;
}

}  // namespace quotient::search
