#include "core/prove/comparison.h"

#include <algorithm>
#include <cmath>
#include <iterator>
#include <memory>
#include <optional>
#include <utility>

#include "core/base/status_macros.h"
#include "core/domain/tensor_egraph.h"
#include "core/prove/idle_indices.h"
#include "core/prove/point.h"

namespace quotient::prove {
namespace {

constexpr size_t kMostMatches = 100;

class Matches final : public egraph::MatchSink {
 public:
  bool Add(egraph::Match match) override {
    matches.push_back(std::move(match));
    return matches.size() < kMostMatches;
  }
  std::vector<egraph::Match> matches;
};

absl::StatusOr<Matches> MatchesOf(const egraph::Rule& rule, egraph::EGraph& graph) {
  QUOTIENT_RETURN_IF_ERROR(graph.Rebuild());
  Matches found;
  rule.Search(graph, found);
  return found;
}

// Applies all matches. Returns whether the e-graph changed.
absl::StatusOr<bool> Apply(const egraph::Rule& rule, const Matches& found, egraph::EGraph& graph) {
  bool changed = false;
  for (const egraph::Match& match : found.matches) {
    QUOTIENT_ASSIGN_OR_RETURN(const bool one, rule.Apply(graph, match, /*origin=*/1));
    changed |= one;
  }
  QUOTIENT_RETURN_IF_ERROR(graph.Rebuild());
  return changed;
}

// The points at which floats are compared for the sizes bound[i]. Several ways to bind symbols have
// several points together.
std::vector<Point> PointsOf(const Attempt& attempt, size_t i) {
  using Range = Point::Range;
  constexpr Range kRanges[] = {Range::kSmall, Range::kMiddle, Range::kLarge};
  std::vector<Point> points;
  for (size_t range = 0; range < std::size(kRanges); ++range) {
    if (attempt.bound.size() > 1 && range != i % std::size(kRanges)) continue;
    points.push_back({.seed = attempt.seed + range,
                      .range = kRanges[range],
                      .numbers = attempt.numbers,
                      .perturbations = attempt.perturbations});
  }
  return points;
}

// What was found at several points.
Agreement CheckAll(std::span<const std::unique_ptr<Equations>> points) {
  Agreement all = points[0]->Check();
  for (const auto& point : points.subspan(1)) {
    Agreement one = point->Check();
    all.compared = std::max(all.compared, one.compared);
    all.largest_error = std::max(all.largest_error, one.largest_error);
    all.rounding.merge(one.rounding);
    if (!all.difference.empty()) continue;
    all.difference = std::move(one.difference);
    all.distance = one.distance;
  }
  return all;
}

// The equations of one way to bind the symbols.
struct Checks {
  std::unique_ptr<Equations> exact;
  std::vector<std::unique_ptr<Equations>> floats;  // By point.
};

std::vector<Checks> ChecksOf(const Attempt& attempt, const domain::TensorEGraph& tensors,
                             const std::set<double>& numbers) {
  std::vector<Checks> checks(attempt.bound.size());
  for (size_t i = 0; i < checks.size(); ++i) {
    checks[i].exact = EquationsInField(tensors, attempt.bound[i], attempt.seed);
    for (Point& point : PointsOf(attempt, i)) {
      point.numbers.insert(numbers.begin(), numbers.end());
      checks[i].floats.push_back(EquationsInFloats(tensors, attempt.bound[i], std::move(point)));
    }
  }
  return checks;
}

// What is found for the same sizes once more; nullopt if the sides were not compared.
absl::StatusOr<std::optional<Comparison>> CompareAgain(const Attempt& attempt,
                                                       const model::Graph* bound) {
  QUOTIENT_ASSIGN_OR_RETURN(const Outcome outcome, Compare(attempt));
  const auto found = std::ranges::find(outcome.comparisons, bound, &Comparison::bound);
  if (found == outcome.comparisons.end() || found->floats.compared == 0) return std::nullopt;
  return *found;
}

}  // namespace

absl::StatusOr<Outcome> Compare(const Attempt& attempt) {
  QUOTIENT_ASSIGN_OR_RETURN(domain::TensorEGraph tensors,
                            domain::FromGraph(attempt.graph, attempt.bound[0]));
  QUOTIENT_ASSIGN_OR_RETURN(const std::shared_ptr<const egraph::Rule> rule,
                            attempt.make_rule(tensors.domain.get()));
  QUOTIENT_ASSIGN_OR_RETURN(const Matches found, MatchesOf(*rule, *tensors.egraph));
  Outcome outcome;
  outcome.matched = !found.matches.empty();
  if (!outcome.matched) return outcome;
  const std::set<double> numbers = NumbersOf(tensors);
  const std::vector<Checks> checks = ChecksOf(attempt, tensors, numbers);
  const absl::StatusOr<bool> changed = Apply(*rule, found, *tensors.egraph);
  outcome.types_differ = tensors.domain->refused_unions() > 0;
  if (outcome.types_differ) return outcome;
  QUOTIENT_RETURN_IF_ERROR(changed.status());
  outcome.changed = *changed;
  if (!outcome.changed) return outcome;
  std::ranges::set_difference(NumbersOf(tensors), numbers,
                              std::inserter(outcome.numbers, outcome.numbers.end()));
  for (size_t i = 0; i < checks.size(); ++i) {
    if (HasIdleIndices(attempt.bound[i])) continue;
    outcome.comparisons.push_back(
        {&attempt.bound[i], checks[i].exact->Check(), CheckAll(checks[i].floats)});
  }
  return outcome;
}

bool AgreesExactly(const Comparison& comparison) {
  const Agreement& exact = comparison.exact;
  return exact.difference.empty() && exact.gap.empty() && exact.undefined.empty() &&
         exact.compared > 0;
}

absl::StatusOr<bool> IsRounding(const Attempt& attempt, const Comparison& comparison) {
  constexpr int kManyPerturbations = 16;
  Attempt again = attempt;
  again.perturbations = kManyPerturbations;
  const bool is_exact = AgreesExactly(comparison) && std::isfinite(comparison.floats.distance);
  const uint64_t other_inputs = is_exact ? 4 : 0;
  for (uint64_t i = 0; i <= other_inputs; ++i) {
    QUOTIENT_ASSIGN_OR_RETURN(const auto other, CompareAgain(again, comparison.bound));
    if (other && other->floats.difference.empty()) return true;
    ++again.seed;
  }
  return false;
}

}  // namespace quotient::prove
