#include "core/extract/improve.h"

#include <algorithm>
#include <cmath>
#include <memory>
#include <utility>

#include "core/extract/blocks.h"
#include "core/extract/bottom_up.h"
#include "core/extract/components.h"
#include "core/extract/local_search.h"
#include "core/extract/shared_selection.h"
#include "core/extract/users.h"

namespace quotient::extract {
namespace {

constexpr int kRestarts = 6;
// The remaining restarts are skipped after this many in a row without gain.
constexpr int kMaxFruitless = 3;

// For each class, the number of live classes that could use it.
std::vector<double> PossibleUses(const Users& users, const SharedSelection& selection) {
  std::vector<double> uses(users.num_keys(), 0);
  for (uint32_t i = 0; i < uses.size(); ++i) {
    for (const User& user : users[i]) uses[i] += selection.live(user.id) ? 1 : 0;
  }
  return uses;
}

// The numbers of uses that a start assumes: between those in the best selection and the possible
// ones.
std::vector<double> ExpectedUses(const Users& users, const SharedSelection& best, double optimism) {
  std::vector<double> uses = PossibleUses(users, best);
  for (uint32_t i = 0; i < uses.size(); ++i) {
    const double now = std::max(1.0, static_cast<double>(best.uses(Class(i))));
    const double possible = std::max(now, uses[i]);
    uses[i] = now * std::pow(possible / now, optimism);
  }
  return uses;
}

bool Improves(const Score& next, const Score& best) {
  if (next.num_recomputed != best.num_recomputed) return next.num_recomputed < best.num_recomputed;
  return next.cost < best.cost * (1 - kRelativeTolerance);
}

// Local search from several starts, the first of which is the choice of least tree cost.
std::vector<Node> SearchBlock(const Instance& instance, std::vector<Node> tree,
                              const StopCondition& stop) {
  const std::vector<uint32_t> components = StrongComponents(instance);
  const Users users = FindUsers(instance);
  const auto search_from = [&](std::vector<Node> choice) {
    auto selection = std::make_unique<SharedSelection>(instance, components, std::move(choice));
    LocalSearch(instance, users, *selection, LocalSearch::Depth::kOne, stop).Run();
    return selection;
  };
  auto best = search_from(tree);
  std::vector<std::vector<Node>> starts = {std::move(tree)};
  int fruitless = 0;
  for (int i = 0; i < kRestarts && fruitless < kMaxFruitless && !stop.ShouldStop(); ++i) {
    const double optimism = static_cast<double>(i) / (kRestarts - 1);
    const std::vector<double> uses = ExpectedUses(users, *best, optimism);
    std::vector<Node> start = MinimizeSharedCost(instance, uses).choice;
    ++fruitless;
    // From an equal start it would end where it has ended before.
    if (std::ranges::find(starts, start) != starts.end()) continue;
    auto next = search_from(start);
    starts.push_back(std::move(start));
    if (!Improves(next->score(), best->score())) continue;
    best = std::move(next);
    fruitless = 0;
  }
  LocalSearch(instance, users, *best, LocalSearch::Depth::kTwo, stop).Run();
  return best->choices();
}

Choice ImproveForm(Form form, const Instance& instance, Choice known, const StopCondition& stop);

// Searches block by block from the bottom up. `known` has a choice for each block.
std::vector<Node> SearchBlocks(const Instance& whole, Blocks& blocks, std::vector<Node> known,
                               const StopCondition& stop) {
  std::vector<double> cost(blocks.size());
  for (size_t i = 0; i < blocks.size(); ++i) {
    const Instance block = blocks.Make(i, cost);
    Choice choice = Scored(block, ReadChoice(block, whole, known));
    choice = ImproveForm(Form::kBlock, block, std::move(choice), stop);
    cost[i] = choice.cost;
    WriteChoice(block, choice.nodes, whole, known);
  }
  return known;
}

std::vector<Node> SearchPart(Form form, const Instance& part, const Instance& whole,
                             const Choice& known, const StopCondition& stop) {
  std::vector<Node> tree = MinimizeTreeCost(part).choice;
  if (form == Form::kBlock) return SearchBlock(part, std::move(tree), stop);
  Blocks blocks(part);
  if (blocks.size() == 1) return SearchBlock(part, std::move(tree), stop);
  return SearchBlocks(part, blocks, ReadNeeded(part, whole, known.nodes, std::move(tree)), stop);
}

Choice ImproveForm(Form form, const Instance& instance, Choice known, const StopCondition& stop) {
  if (stop.ShouldStop() || instance.num_nodes() == instance.num_classes()) return known;
  if (known.num_recomputed > 0) {  // No cost is known above which e-nodes could be dropped.
    Choice found = Scored(instance, SearchBlock(instance, known.nodes, stop));
    return IsAsGood(found, known) ? found : known;
  }
  const Instance part = RestrictToCost(instance, known.cost);
  form = FormOfRest(form, instance, part);
  const Choice found = Scored(part, SearchPart(form, part, instance, known, stop));
  if (!IsAsGood(found, known)) return known;
  // Differences that were negligible next to the old cost may matter now, and more e-nodes are too
  // expensive.
  const bool again = found.cost < known.cost / 2;
  WriteChoice(part, found.nodes, instance, known.nodes);
  known.cost = found.cost;
  return again ? ImproveForm(form, instance, std::move(known), stop) : known;
}

}  // namespace

Choice Improve(const Instance& instance, Choice known, const StopCondition& stop) {
  return ImproveForm(Form::kAny, instance, std::move(known), stop);
}

}  // namespace quotient::extract
