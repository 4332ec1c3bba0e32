#include "core/journal/needed_rewrites.h"

#include <algorithm>
#include <utility>

#include "absl/container/flat_hash_map.h"
#include "core/base/status_macros.h"
#include "core/journal/deriving.h"

namespace quotient::journal {
namespace {

using egraph::Match;

// How often a rewrite is looked for where what it rests on seems to be there, if its rule had the
// match in the end. Others may match at any time, and not for long.
constexpr int kMostTrials = 50;

}  // namespace

absl::StatusOr<std::unique_ptr<NeededRewrites>> NeededRewrites::Begin(
    const Past& past, const model::Graph& graph, const model::Graph& measured,
    const ReplaySettings& settings) {
  QUOTIENT_ASSIGN_OR_RETURN(std::unique_ptr<ReplayEGraph> replay,
                            ReplayEGraph::Begin(graph, measured, settings));
  return std::unique_ptr<NeededRewrites>(new NeededRewrites(past, std::move(replay)));
}

NeededRewrites::NeededRewrites(const Past& past, std::unique_ptr<ReplayEGraph> replay)
    : past_(past),
      replay_(std::move(replay)),
      same_(past.reasons().enodes(), *past.replay().tensors().domain, replay_->tensors(),
            past.originals()) {}

absl::StatusOr<std::vector<uint32_t>> NeededRewrites::Make(std::span<const uint32_t> numbers,
                                                           const StopCondition& stop) {
  std::vector<std::vector<size_t>> ready = ReadyAt(numbers);
  std::vector<Found> found(numbers.size());
  std::vector<size_t> wanted;
  std::vector<uint32_t> failed;
  for (size_t i = 0; i < numbers.size(); ++i) {
    wanted.insert(wanted.end(), ready[i].begin(), ready[i].end());
    std::vector<size_t> missing;
    for (const size_t next : wanted) {
      QUOTIENT_RETURN_IF_ERROR(CheckTime(stop));
      const Past::Rewrite& rewrite = past_.rewrite(numbers[next]);
      QUOTIENT_RETURN_IF_ERROR(Find(rewrite, &found[next]));
      if (found[next].described.has_value() || next == i) continue;
      if (++found[next].trials < kMostTrials || !rewrite.matches) missing.push_back(next);
    }
    wanted = std::move(missing);
    QUOTIENT_ASSIGN_OR_RETURN(const bool matches, MakeOne(past_.rewrite(numbers[i]), &found[i]));
    if (!matches) failed.push_back(numbers[i]);
    found[i] = {};
  }
  return failed;
}

// By how many of the rewrites are made when each is looked for first: their indices. That is when
// the e-nodes and equalities are there that it rests on. When a rule has matched that does not any
// more is not known.
std::vector<std::vector<size_t>> NeededRewrites::ReadyAt(std::span<const uint32_t> numbers) const {
  absl::flat_hash_map<uint32_t, size_t> index_of;
  std::vector<std::vector<size_t>> ready(numbers.size());
  for (size_t i = 0; i < numbers.size(); ++i) {
    index_of[numbers[i]] = i;
    size_t first = 0;
    if (past_.rewrite(numbers[i]).matches) {
      for (const uint32_t before : past_.reasons().RewritesBefore(numbers[i])) {
        const auto at = index_of.find(before);
        if (at != index_of.end()) first = std::max(first, at->second + 1);
      }
    }
    ready[first].push_back(i);
  }
  return ready;
}

absl::Status NeededRewrites::Find(const Past::Rewrite& rewrite, Found* found) {
  absl::StatusOr<Match> match = same_.FindMatch(*replay_->rules()[rewrite.rule], rewrite.match);
  // Something before it did not match, or did something else.
  if (absl::IsNotFound(match.status())) return absl::OkStatus();
  QUOTIENT_RETURN_IF_ERROR(match.status());
  QUOTIENT_ASSIGN_OR_RETURN(found->described, replay_->Describe(rewrite.rule, *match));
  found->match = *std::move(match);
  return absl::OkStatus();
}

// Returns false if the rewrite does not match.
absl::StatusOr<bool> NeededRewrites::MakeOne(const Past::Rewrite& rewrite, Found* found) {
  if (!found->described.has_value()) QUOTIENT_RETURN_IF_ERROR(Find(rewrite, found));
  if (!found->match.has_value()) return false;
  QUOTIENT_ASSIGN_OR_RETURN(const bool changed, replay_->Apply(rewrite.rule, *found->match));
  if (!changed) return true;
  if (!found->described.has_value()) return false;
  rewrites_.push_back(*std::move(found->described));
  return true;
}

}  // namespace quotient::journal
