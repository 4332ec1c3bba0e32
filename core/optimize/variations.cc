#include "core/optimize/variations.h"

#include <algorithm>
#include <numeric>
#include <utility>

#include "core/base/log.h"

namespace quotient::optimize {
namespace {

constexpr size_t kMostLeftOutAlone = 3;
constexpr double kDoubtfulShare = 0.005;
constexpr int kMostRounds = 3;
// A race with less time than this tells nothing.
constexpr double kLeastSeconds = 1;

using Set = std::vector<size_t>;

// Families that save much and those that save little are in both halves.
std::vector<Set> Halves(const Set& families) {
  std::vector<Set> halves(2);
  for (size_t i = 0; i < families.size(); ++i) halves[i % 2].push_back(families[i]);
  return halves;
}

class Variation {
 public:
  Variation(const VariationContext& context, Variants& variants, Decision* decision)
      : context_(context), variants_(variants), decision_(*decision) {}

  void Run() {
    const std::optional<size_t> candidate = Subject();
    if (!candidate.has_value()) return;
    const std::vector<RewriteFamily> families = variants_.FamiliesOf(*candidate);
    if (families.size() < 2) return;
    LeaveOut plan(families, decision_.winner.has_value(), context_.cost.total_us);
    for (int round = 0; round < kMostRounds; ++round) {
      const std::vector<Set> sets = plan.Next();
      if (sets.empty() || !FitsInBudget(sets.size())) return;
      std::optional<size_t> taken;
      if (!TryRound(*candidate, sets, &taken)) return;
      plan.ReportTaken(taken);
    }
  }

 private:
  // The candidate, by its place in the search's list, whose variants are tried.
  std::optional<size_t> Subject() const {
    return decision_.winner.has_value() ? decision_.winner->candidate.packaged.found
                                        : decision_.foremost;
  }

  bool FitsInBudget(size_t variants) const {
    const auto count = static_cast<double>(variants);
    // A run on one thread takes as long as all threads together, of a machine on which each of them
    // often has to wait.
    const double run_us = decision_.by_cpu_time ? context_.threads * decision_.original.p10_us
                                                : decision_.original.median_us;
    const double race = (count + 2) * kRunsOfRace * run_us * 1e-6;
    const double needed = count * context_.seconds_per_candidate + std::max(race, kLeastSeconds);
    return !context_.stop.ShouldStop() && needed <= context_.budget.Left();
  }

  // Makes, checks and runs one variant for each set. Returns false if nothing could be run.
  bool TryRound(size_t candidate, const std::vector<Set>& sets, std::optional<size_t>* taken) {
    std::vector<Verified> contenders;
    // What was taken goes first, so that it stays if a variant is predicted to cost the same.
    if (decision_.winner.has_value()) contenders.push_back(decision_.winner->candidate);
    const size_t others = contenders.size();
    std::vector<std::vector<std::string>> left_out(sets.size());
    for (size_t i = 0; i < sets.size(); ++i) {
      std::optional<Verified> variant = Make(candidate, sets[i]);
      if (!variant.has_value()) continue;
      left_out[i] = variant->packaged.left_out;
      contenders.push_back(*std::move(variant));
    }
    if (contenders.size() == others) return false;
    const double seconds = std::max(context_.budget.Left(), kLeastSeconds);
    absl::StatusOr<Decision> next = context_.race(std::move(contenders), seconds);
    if (!next.ok()) {
      Log().warn("variants could not be run: {}", Escaped(next.status().message()));
      return false;
    }
    // What a disturbed race says does not count against what was taken in one that was not.
    if (next->disturbed && !decision_.disturbed && decision_.winner.has_value()) return false;
    if (next->winner.has_value()) {
      const auto at = std::ranges::find(left_out, next->winner->candidate.packaged.left_out);
      if (at != left_out.end() && !at->empty()) *taken = at - left_out.begin();
    }
    Merge(*std::move(next));
    return true;
  }

  // Nullopt if there is no such graph, if it takes the same time as what was taken, or if it does
  // not agree with the original.
  std::optional<Verified> Make(size_t candidate, const Set& set) {
    absl::StatusOr<std::optional<Candidate>> variant = variants_.Without(candidate, set);
    if (!variant.ok() || !variant->has_value()) return std::nullopt;
    absl::StatusOr<Packaged> packaged =
        Package(context_.original, **std::move(variant), context_.package, context_.costs,
                {context_.stop, context_.stop});
    if (!packaged.ok()) return std::nullopt;
    const bool is_needless =
        decision_.winner.has_value() &&
        context_.take_same_time(*packaged, decision_.winner->candidate.packaged);
    if (is_needless) return std::nullopt;
    std::vector<Packaged> one;
    one.push_back(*std::move(packaged));
    Compared compared = Compare(context_.checker, std::move(one), 1, context_.stop, context_.stop);
    if (compared.agreeing.empty()) return std::nullopt;
    return std::move(compared.agreeing.front());
  }

  // Takes over what a further race has decided. What was taken before ran in that race, too. It
  // stays if nothing was taken in it, unless it proved to be slower there.
  void Merge(Decision next) {
    const auto before = std::ranges::find_if(decision_.considered, &report::Considered::taken);
    if (before != decision_.considered.end()) {
      const auto again =
          std::ranges::find(next.considered, before->left_out, &report::Considered::left_out);
      if (again != next.considered.end()) {
        const bool is_slower = again->grounds == report::Grounds::kSurelySlower;
        const bool stays = !next.winner.has_value() && !is_slower;
        if (!next.winner.has_value() && !stays) decision_.winner.reset();
        if (!stays) *before = *again;
        next.considered.erase(again);
      }
    }
    std::ranges::move(next.considered, std::back_inserter(decision_.considered));
    if (!next.winner.has_value()) return;
    decision_.disturbed = next.disturbed;
    decision_.by_cpu_time = next.by_cpu_time;
    decision_.winner = std::move(next.winner);
    decision_.original = next.original;
  }

  const VariationContext& context_;
  Variants& variants_;
  Decision& decision_;
};

}  // namespace

LeaveOut::LeaveOut(const std::vector<RewriteFamily>& families, bool is_taken, double original_us)
    : is_taken_(is_taken) {
  Set all(families.size());
  std::iota(all.begin(), all.end(), size_t{0});
  if (is_taken) {
    Set doubtful;
    std::ranges::copy_if(all, std::back_inserter(doubtful), [&](size_t i) {
      return families[i].saving_us < kDoubtfulShare * original_us;
    });
    if (!doubtful.empty() && doubtful.size() < all.size()) next_.push_back(std::move(doubtful));
  } else if (all.size() <= kMostLeftOutAlone) {
    for (const size_t family : all) next_.push_back({family});
  } else {
    next_ = Halves(all);
  }
}

std::vector<Set> LeaveOut::Next() {
  last_ = std::exchange(next_, {});
  return last_;
}

void LeaveOut::ReportTaken(std::optional<size_t> taken) {
  if (is_taken_ || !taken.has_value()) return;
  const Set& left_out = last_[*taken];
  if (left_out.size() > 1) next_ = Halves(left_out);
}

void TryVariants(const VariationContext& context, Variants& variants, Decision* decision) {
  Variation(context, variants, decision).Run();
}

}  // namespace quotient::optimize
