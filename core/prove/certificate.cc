#include "core/prove/certificate.h"

#include <algorithm>
#include <cmath>
#include <memory>
#include <optional>
#include <set>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_join.h"
#include "core/base/counted.h"
#include "core/base/rng.h"
#include "core/base/status_macros.h"
#include "core/model/text.h"
#include "core/prove/comparison.h"
#include "core/prove/near_misses.h"
#include "core/prove/symbols.h"
#include "core/prove/variation.h"

namespace quotient::prove {
namespace {

// Most variations of a graph are no graphs, or none in which the rule applies.
constexpr int kTriesPerInstance = 30;
constexpr int64_t kMostPrinted = 64;  // Elements of a constant in a counterexample.

void Refute(const std::string& why, const model::Graph& graph, Certificate& certificate) {
  if (!certificate.counterexample.empty()) return;
  certificate.counterexample = absl::StrCat(why, "\n", model::PrintGraph(graph, kMostPrinted));
}

// Compares, and counts what came of it. A rule that made unequal types equal is refuted.
absl::StatusOr<std::vector<Comparison>> Try(const Attempt& attempt, Certificate& certificate) {
  QUOTIENT_ASSIGN_OR_RETURN(Outcome outcome, Compare(attempt));
  ++certificate.tried;
  certificate.matched += outcome.matched;
  certificate.changed += outcome.changed;
  certificate.numbers.merge(outcome.numbers);
  if (outcome.types_differ) Refute("the sides have different types", attempt.graph, certificate);
  return std::move(outcome.comparisons);
}

void Note(const Comparison& comparison, Certificate& certificate) {
  const auto& [bound, exact, floats] = comparison;
  certificate.equations += floats.compared;
  certificate.largest_error = std::max(certificate.largest_error, floats.largest_error);
  certificate.functions.insert(exact.functions.begin(), exact.functions.end());
  certificate.rounding.insert(floats.rounding.begin(), floats.rounding.end());
  if (!exact.undefined.empty()) certificate.why_undefined = exact.undefined;
  if (!exact.difference.empty()) {
    certificate.why_not_exact = absl::StrCat("differs: ", exact.difference);
  } else if (!exact.gap.empty()) {
    certificate.why_not_exact = exact.gap;
  }
}

// Refutes the rule if both sides differ in floats, unless by rounding. `where` says in which sizes.
absl::Status NoteDifference(const Attempt& attempt, const Comparison& comparison,
                            absl::string_view where, Certificate& certificate) {
  const std::string& difference = comparison.floats.difference;
  if (difference.empty()) return absl::OkStatus();
  QUOTIENT_ASSIGN_OR_RETURN(const bool is_rounding, IsRounding(attempt, comparison));
  if (is_rounding) return absl::OkStatus();
  std::string why = absl::StrCat("differs", where, ": ", difference);
  if (std::isfinite(comparison.floats.distance)) {
    absl::StrAppendFormat(&why, " (by %.0e)", comparison.floats.distance);
  }
  Refute(why, attempt.graph, certificate);
  return absl::OkStatus();
}

// Returns whether the rule changed the e-graph of the graph, all of whose types are static.
absl::StatusOr<bool> TryWithNumbers(const RuleMaker& make_rule, const model::Graph& graph,
                                    uint64_t seed, Certificate& certificate) {
  const Attempt attempt = {make_rule, graph, std::span(&graph, 1), seed, certificate.numbers};
  QUOTIENT_ASSIGN_OR_RETURN(const std::vector<Comparison> comparisons, Try(attempt, certificate));
  if (comparisons.empty()) return false;
  const Comparison& comparison = comparisons[0];
  QUOTIENT_RETURN_IF_ERROR(NoteDifference(attempt, comparison, "", certificate));
  if (comparison.floats.compared == 0) return true;  // Nothing is known then.
  ++certificate.instances;
  Note(comparison, certificate);
  const bool is_undefined = comparison.exact.difference.empty() && comparison.exact.gap.empty();
  if (AgreesExactly(comparison)) {
    ++certificate.exact;
  } else if (is_undefined) {
    ++certificate.undefined;
  }
  return true;
}

std::string SizesOf(const model::Graph& graph) {
  std::string text;
  for (const model::ValueId input : graph.inputs) {
    const model::Value& value = graph.value(input);
    absl::StrAppend(&text, " ", value.name, ": ", ToString(value.type));
  }
  return text;
}

absl::Status TryWithSymbols(const RuleMaker& make_rule, const SymbolicGraph& symbolic,
                            uint64_t seed, Certificate& certificate) {
  const Attempt attempt = {make_rule, symbolic.graph, symbolic.bound, seed, certificate.numbers};
  QUOTIENT_ASSIGN_OR_RETURN(const std::vector<Comparison> comparisons, Try(attempt, certificate));
  for (const Comparison& comparison : comparisons) {
    const std::string where = absl::StrCat(" for", SizesOf(*comparison.bound));
    QUOTIENT_RETURN_IF_ERROR(NoteDifference(attempt, comparison, where, certificate));
  }
  const auto was_compared = [](const Comparison& each) { return each.floats.compared > 0; };
  if (std::ranges::count_if(comparisons, was_compared) < 2) return absl::OkStatus();
  ++certificate.symbolic;
  for (const Comparison& comparison : comparisons) Note(comparison, certificate);
  certificate.symbolic_exact += std::ranges::any_of(comparisons, AgreesExactly);
  return absl::OkStatus();
}

Tier TierOf(const Certificate& certificate) {
  if (!certificate.counterexample.empty()) return Tier::kRefuted;
  if (certificate.instances + certificate.symbolic == 0) return Tier::kNotApplied;
  const bool is_exact = certificate.exact + certificate.symbolic_exact > 0;
  if (!certificate.why_not_exact.empty() || !is_exact) return Tier::kNumeric;
  return certificate.functions.empty() ? Tier::kExact : Tier::kExactForAnyFunction;
}

bool IsRefuted(const Certificate& certificate) { return !certificate.counterexample.empty(); }

// Why nothing of what the rule added was compared.
absl::StatusOr<std::string> WhyNotApplied(const RuleMaker& rule,
                                          std::span<const model::Graph> graphs,
                                          const Certificate& certificate) {
  const std::string of_tried = absl::StrCat(" of ", Counted(certificate.tried, "graph"));
  if (certificate.matched == 0) return WhyNoMatch(rule, graphs);
  if (certificate.changed == 0) {
    return absl::StrCat("it matches in ", certificate.matched, of_tried,
                        ", but its right side cannot be built there, or is there already");
  }
  return absl::StrCat("it changes ", certificate.changed, of_tried,
                      ", but nothing that it adds has values to compare");
}

std::string WhyNumeric(const Certificate& certificate) {
  std::string why = certificate.why_not_exact;
  if (why.empty()) why = absl::StrCat("no graph has an exact value: ", certificate.why_undefined);
  absl::StrAppend(&why, "; not exact in ", certificate.instances - certificate.exact, " of ",
                  Counted(certificate.instances, "graph"), " with numbers");
  if (certificate.symbolic > 0) {
    absl::StrAppend(&why, " and ", certificate.symbolic - certificate.symbolic_exact, " of ",
                    certificate.symbolic, " with symbols");
  }
  if (!certificate.functions.empty()) {
    absl::StrAppend(&why, "; left open: ", absl::StrJoin(certificate.functions, " "));
  }
  absl::StrAppendFormat(&why, "; in floats apart by %.0e at most", certificate.largest_error);
  if (certificate.rounding.empty()) return why;
  return absl::StrCat(why, ", not in double: ", absl::StrJoin(certificate.rounding, " "));
}

// To 1, 2, 3 or 5 times a power of ten, and to the rounding of double at least, so that other
// machines, whose functions may differ in the last digits, record the same.
double RoundedUp(double error) {
  if (error == 0) return 0;
  constexpr double kRoundingOfDouble = 1e-12;
  if (error <= kRoundingOfDouble) return kRoundingOfDouble;
  const double power = std::pow(10, std::floor(std::log10(error)));
  for (const double digit : {1, 2, 3, 5}) {
    if (error <= digit * power) return digit * power;
  }
  return 10 * power;
}

// Returns the graphs in which the rule applied.
absl::StatusOr<std::vector<model::Graph>> CertifyWithNumbers(const RuleMaker& rule,
                                                             std::span<const model::Graph> graphs,
                                                             const Trials& trials, Rng& rng,
                                                             Certificate& certificate) {
  std::vector<model::Graph> applied;
  for (const model::Graph& graph : graphs) {
    if (IsRefuted(certificate)) break;
    QUOTIENT_ASSIGN_OR_RETURN(const bool does,
                              TryWithNumbers(rule, graph, rng.Next(), certificate));
    if (does) applied.push_back(graph);
  }
  const int wanted = std::max(trials.instances, certificate.instances + trials.variations);
  const int most = std::max(trials.instances, trials.variations);
  const int tries = graphs.empty() ? 0 : most * kTriesPerInstance;
  for (int i = 0; i < tries && certificate.instances < wanted; ++i) {
    if (IsRefuted(certificate)) break;
    const std::optional<model::Graph> varied = Varied(graphs[rng.Below(graphs.size())], rng);
    if (!varied) continue;
    QUOTIENT_ASSIGN_OR_RETURN(const bool does,
                              TryWithNumbers(rule, *varied, rng.Next(), certificate));
    if (does) applied.push_back(*varied);
  }
  return applied;
}

// Opens sizes of `graphs`, which are static, and tries other sizes in `open`, which have symbols.
absl::Status CertifyWithSymbols(const RuleMaker& rule, std::span<const model::Graph> graphs,
                                std::span<const model::Graph> open, int instances, Rng& rng,
                                Certificate& certificate) {
  const size_t count = graphs.size() + open.size();
  if (count == 0 || instances == 0) return absl::OkStatus();
  const auto attempt = [&](size_t at) -> absl::Status {
    if (IsRefuted(certificate)) return absl::OkStatus();
    const std::optional<SymbolicGraph> symbolic = at < open.size()
                                                      ? InSeveralSizes(open[at], rng)
                                                      : WithSymbols(graphs[at - open.size()], rng);
    if (!symbolic) return absl::OkStatus();
    return TryWithSymbols(rule, *symbolic, rng.Next(), certificate);
  };
  constexpr size_t kTriesPerOpenGraph = 6;
  for (size_t i = 0; i < kTriesPerOpenGraph * open.size(); ++i) {
    QUOTIENT_RETURN_IF_ERROR(attempt(i % open.size()));
  }
  const int tries = instances * kTriesPerInstance;
  for (int i = 0; i < tries && certificate.symbolic < instances; ++i) {
    QUOTIENT_RETURN_IF_ERROR(attempt(rng.Below(count)));
  }
  return absl::OkStatus();
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

std::string WhyNotHigher(const Certificate& certificate) {
  switch (certificate.tier) {
    case Tier::kExact:
      return "";
    case Tier::kExactForAnyFunction:
      return absl::StrJoin(certificate.functions, " ");
    case Tier::kNumeric:
      return WhyNumeric(certificate);
    case Tier::kRefuted:
      return certificate.counterexample.substr(0, certificate.counterexample.find('\n'));
    case Tier::kNotApplied:
      return certificate.why_not_applied;
  }
  return "";
}

absl::StatusOr<Certificate> Certify(const RuleMaker& rule, std::span<const model::Graph> graphs,
                                    const Trials& trials) {
  Certificate certificate;
  std::vector<model::Graph> with_numbers;
  std::vector<model::Graph> with_symbols;
  for (const model::Graph& graph : graphs) {
    (IsStatic(graph) ? with_numbers : with_symbols).push_back(graph);
  }
  Rng rng(trials.seed);
  QUOTIENT_ASSIGN_OR_RETURN(const std::vector<model::Graph> applied,
                            CertifyWithNumbers(rule, with_numbers, trials, rng, certificate));
  QUOTIENT_RETURN_IF_ERROR(
      CertifyWithSymbols(rule, applied, with_symbols, trials.symbolic, rng, certificate));
  certificate.tier = TierOf(certificate);
  certificate.largest_error = RoundedUp(certificate.largest_error);
  if (certificate.tier == Tier::kNotApplied) {
    QUOTIENT_ASSIGN_OR_RETURN(certificate.why_not_applied,
                              WhyNotApplied(rule, graphs, certificate));
  }
  return certificate;
}

}  // namespace quotient::prove
