#include "core/prove/certificate.h"

#include <algorithm>
#include <memory>
#include <optional>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "core/base/rng.h"
#include "core/base/status_macros.h"
#include "core/domain/tensor_egraph.h"
#include "core/model/text.h"
#include "core/prove/equations.h"
#include "core/prove/variation.h"

namespace quotient::prove {
namespace {

// Most variations of a graph are no graphs, or none in which the rule applies.
constexpr int kTriesPerInstance = 30;
constexpr size_t kMostMatches = 100;
constexpr int64_t kMostPrinted = 64;  // Elements of a constant in a counterexample.

class Matches final : public egraph::MatchSink {
 public:
  bool Add(egraph::Match match) override {
    matches.push_back(std::move(match));
    return matches.size() < kMostMatches;
  }
  std::vector<egraph::Match> matches;
};

// Applies the matches. Returns whether the e-graph changed.
absl::StatusOr<bool> ApplyAll(const egraph::Rule& rule, const Matches& found,
                              egraph::EGraph& graph) {
  bool changed = false;
  for (const egraph::Match& match : found.matches) {
    QUOTIENT_ASSIGN_OR_RETURN(const bool one, rule.Apply(graph, match, /*origin=*/1));
    changed |= one;
  }
  QUOTIENT_RETURN_IF_ERROR(graph.Rebuild());
  return changed;
}

void Refute(const std::string& why, const model::Graph& graph, Certificate& certificate) {
  if (!certificate.counterexample.empty()) return;
  certificate.counterexample = absl::StrCat(why, "\n", model::PrintGraph(graph, kMostPrinted));
}

void Count(const Agreement& exact, const Agreement& floats, const model::Graph& graph,
           Certificate& certificate) {
  if (floats.compared == 0) return;  // Nothing is known then.
  ++certificate.instances;
  certificate.equations += floats.compared;
  certificate.largest_error = std::max(certificate.largest_error, floats.largest_error);
  certificate.functions.insert(exact.functions.begin(), exact.functions.end());
  if (!exact.difference.empty()) {
    certificate.why_not_exact = absl::StrCat("differs: ", exact.difference);
  } else if (!exact.gap.empty()) {
    certificate.why_not_exact = exact.gap;
  } else if (exact.undefined || exact.compared == 0) {
    ++certificate.undefined;
  } else {
    ++certificate.exact;
  }
  if (!floats.difference.empty()) {
    Refute(absl::StrCat("differs: ", floats.difference), graph, certificate);
  }
}

absl::Status TryIn(const RuleMaker& make_rule, const model::Graph& graph, uint64_t seed,
                   Certificate& certificate) {
  QUOTIENT_ASSIGN_OR_RETURN(domain::TensorEGraph tensors, domain::FromGraph(graph, graph));
  QUOTIENT_ASSIGN_OR_RETURN(const std::shared_ptr<const egraph::Rule> rule,
                            make_rule(tensors.domain.get()));
  QUOTIENT_RETURN_IF_ERROR(tensors.egraph->Rebuild());
  Matches found;
  rule->Search(*tensors.egraph, found);
  if (found.matches.empty()) return absl::OkStatus();
  const auto exact = EquationsInField(tensors, seed);
  const auto floats = EquationsInFloats(tensors, seed);
  const absl::StatusOr<bool> changed = ApplyAll(*rule, found, *tensors.egraph);
  if (tensors.domain->refused_unions() > 0) {
    ++certificate.instances;
    Refute("the sides have different types", graph, certificate);
    return absl::OkStatus();
  }
  QUOTIENT_RETURN_IF_ERROR(changed.status());
  if (*changed) Count(exact->Check(), floats->Check(), graph, certificate);
  return absl::OkStatus();
}

Tier TierOf(const Certificate& certificate) {
  if (certificate.instances == 0) return Tier::kNotApplied;
  if (!certificate.counterexample.empty()) return Tier::kRefuted;
  if (!certificate.why_not_exact.empty() || certificate.exact == 0) return Tier::kNumeric;
  return certificate.functions.empty() ? Tier::kExact : Tier::kExactForAnyFunction;
}

}  // namespace

const char* NameOf(Tier tier) {
  switch (tier) {
    case Tier::kExact:
      return "exact";
    case Tier::kExactForAnyFunction:
      return "exact for any function";
    case Tier::kNumeric:
      return "numeric";
    case Tier::kRefuted:
      return "refuted";
    case Tier::kNotApplied:
      return "not applied";
  }
  return "";
}

absl::StatusOr<Certificate> Certify(const RuleMaker& rule, std::span<const model::Graph> graphs,
                                    int instances, uint64_t seed, int variations) {
  Certificate certificate;
  if (graphs.empty()) return certificate;
  Rng rng(seed);
  const auto is_refuted = [&certificate] { return !certificate.counterexample.empty(); };
  for (const model::Graph& graph : graphs) {
    if (!is_refuted()) QUOTIENT_RETURN_IF_ERROR(TryIn(rule, graph, rng.Next(), certificate));
  }
  const int wanted = std::max(instances, certificate.instances + variations);
  const int tries = std::max(instances, variations) * kTriesPerInstance;
  for (int i = 0; i < tries && certificate.instances < wanted && !is_refuted(); ++i) {
    const std::optional<model::Graph> varied = Varied(graphs[rng.Below(graphs.size())], rng);
    if (!varied) continue;
    QUOTIENT_RETURN_IF_ERROR(TryIn(rule, *varied, rng.Next(), certificate));
  }
  certificate.tier = TierOf(certificate);
  return certificate;
}

}  // namespace quotient::prove
