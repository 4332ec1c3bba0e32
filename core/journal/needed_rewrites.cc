#include "core/journal/needed_rewrites.h"

#include <algorithm>
#include <utility>

#include "absl/container/flat_hash_map.h"
#include "core/base/status_macros.h"

namespace quotient::journal {
namespace {

using egraph::Match;

// How often a rewrite is looked for where what it rests on seems to be there, if its rule had the
// match in the end. Others may match at any time, and not for long.
constexpr int kMostTrials = 50;

}  // namespace

absl::StatusOr<std::unique_ptr<NeededRewrites>> NeededRewrites::Begin(
    const SearchHistory& history, const model::Graph& graph, const model::Graph& measured,
    const ReplaySettings& settings, StepBudget* budget) {
  QUOTIENT_ASSIGN_OR_RETURN(std::unique_ptr<ReplayEGraph> replay,
                            ReplayEGraph::Begin(graph, measured, settings, budget));
  return std::unique_ptr<NeededRewrites>(new NeededRewrites(history, std::move(replay), budget));
}

NeededRewrites::NeededRewrites(const SearchHistory& history, std::unique_ptr<ReplayEGraph> replay,
                               StepBudget* budget)
    : history_(history),
      budget_(*budget),
      replay_(std::move(replay)),
      same_(history.reasons().enodes(), *history.replay().tensors().domain, replay_->tensors(),
            history.originals()) {}

absl::StatusOr<std::vector<uint32_t>> NeededRewrites::Make(std::span<const uint32_t> numbers) {
  const std::vector<std::vector<size_t>> ready = ReadyAt(numbers);
  QUOTIENT_RETURN_IF_ERROR(budget_.Check());
  std::vector<Pending> pending(numbers.size());
  std::vector<size_t> wanted;
  std::vector<uint32_t> failed;
  for (size_t i = 0; i < numbers.size(); ++i) {
    wanted.insert(wanted.end(), ready[i].begin(), ready[i].end());
    std::vector<size_t> missing;
    for (const size_t next : wanted) {
      const SearchHistory::Rewrite& rewrite = history_.rewrite(numbers[next]);
      QUOTIENT_RETURN_IF_ERROR(Find(rewrite, &pending[next]));
      if (pending[next].described.has_value() || next == i) continue;
      if (rewrite.matches && ++pending[next].trials == kMostTrials) continue;
      missing.push_back(next);
    }
    wanted = std::move(missing);
    QUOTIENT_ASSIGN_OR_RETURN(const bool matches,
                              MakeOne(history_.rewrite(numbers[i]), &pending[i]));
    if (!matches) failed.push_back(numbers[i]);
    // It may have matched between its last trial and now.
    if (!matches && pending[i].trials == kMostTrials) budget_.NoteCut();
    pending[i] = {};
  }
  return failed;
}

// For each number of rewrites that are made: the indices of those that are looked for from then on,
// because the e-nodes and equalities are there that they rest on. Those whose rule did not match
// any more when the search made them are looked for from the beginning, as it is not known when the
// rule matched.
std::vector<std::vector<size_t>> NeededRewrites::ReadyAt(std::span<const uint32_t> numbers) const {
  absl::flat_hash_map<uint32_t, size_t> index_of;
  std::vector<std::vector<size_t>> ready(numbers.size());
  for (size_t i = 0; i < numbers.size(); ++i) {
    index_of[numbers[i]] = i;
    size_t first = 0;
    if (history_.rewrite(numbers[i]).matches) {
      for (const uint32_t before : history_.reasons().RewritesBefore(numbers[i], &budget_)) {
        const auto at = index_of.find(before);
        if (at != index_of.end()) first = std::max(first, at->second + 1);
      }
    }
    ready[first].push_back(i);
  }
  return ready;
}

absl::Status NeededRewrites::Find(const SearchHistory::Rewrite& rewrite, Pending* pending) {
  budget_.Take(1 + static_cast<int64_t>(rewrite.match.classes.size()));
  absl::StatusOr<Match> match = same_.FindMatch(*replay_->rules()[rewrite.rule], rewrite.match);
  // Something before it did not match, or did something else.
  if (absl::IsNotFound(match.status())) return absl::OkStatus();
  QUOTIENT_RETURN_IF_ERROR(match.status());
  QUOTIENT_ASSIGN_OR_RETURN(pending->described, replay_->Describe(rewrite.rule, *match));
  pending->match = *std::move(match);
  return absl::OkStatus();
}

// Returns false if the rewrite does not match.
absl::StatusOr<bool> NeededRewrites::MakeOne(const SearchHistory::Rewrite& rewrite,
                                             Pending* pending) {
  if (!pending->described.has_value()) QUOTIENT_RETURN_IF_ERROR(Find(rewrite, pending));
  if (!pending->match.has_value()) return false;
  QUOTIENT_ASSIGN_OR_RETURN(const bool changed, replay_->Apply(rewrite.rule, *pending->match));
  if (!changed) return true;
  if (!pending->described.has_value()) return false;
  rewrites_.push_back(*std::move(pending->described));
  return true;
}

}  // namespace quotient::journal
