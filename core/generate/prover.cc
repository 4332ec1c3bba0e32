#include "core/generate/prover.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <memory>
#include <span>
#include <utility>
#include <vector>

#include "absl/strings/match.h"
#include "core/base/rng.h"
#include "core/base/status_macros.h"
#include "core/egraph/pattern.h"
#include "core/eval/evaluator.h"
#include "core/generate/instances.h"
#include "core/rules/vocabulary.h"

namespace quotient::generate {
namespace {

prove::RuleMaker MakerOf(const std::string& text) {
  return
      [text](domain::TensorDomain* domain) -> absl::StatusOr<std::shared_ptr<const egraph::Rule>> {
        rules::Words words(domain);
        rules::AddCommonWords(words);
        QUOTIENT_ASSIGN_OR_RETURN(auto compiled, egraph::CompileRules(text, words.vocabulary()));
        return std::shared_ptr<const egraph::Rule>(std::move(compiled[0]));
      };
}

// A conjecture comes from equal values in the field, so a difference there is no matter of what a
// function is: the values were equal by chance, and floats between -1 and 1 may be, too.
bool IsTrusted(const prove::Certificate& certificate) {
  switch (certificate.tier) {
    case prove::Tier::kExact:
    case prove::Tier::kExactForAnyFunction:
      return true;
    case prove::Tier::kNumeric:
      return !absl::StartsWith(certificate.why_not_exact, "differs");
    default:
      return false;
  }
}

bool SameElement(double a, double b) {
  if (std::isnan(a) || std::isnan(b)) return std::isnan(a) && std::isnan(b);
  return a == b || std::abs(a - b) <= 1e-4 * std::max({1.0, std::abs(a), std::abs(b)});
}

// Whether both sides have the same floats where variables consist of these elements.
absl::StatusOr<bool> AgreeOn(const Terms& terms, TermId left, TermId right,
                             std::span<const float> elements, uint64_t seed) {
  const TermId sides[] = {left, right};
  const std::optional<model::Graph> graph = terms.ToGraph(sides, terms.Small());
  Rng rng(seed);
  constexpr int kTries = 8;
  for (int i = 0; i < kTries; ++i) {
    eval::ValueMap inputs;
    for (const model::ValueId input : graph->inputs) {
      const model::TensorType& type = graph->value(input).type;
      std::vector<float> values(static_cast<size_t>(type.elements()));
      for (float& each : values) each = elements[rng.Below(elements.size())];
      inputs.emplace(input, model::Tensor::Floats(type.dims(), std::span<const float>(values)));
    }
    QUOTIENT_ASSIGN_OR_RETURN(const eval::ValueMap outputs,
                              eval::Evaluate(*graph, inputs, graph->outputs, /*threads=*/1));
    const model::Tensor& one = outputs.at(graph->outputs[0]);
    const model::Tensor& other = outputs.at(graph->outputs[1]);
    for (int64_t at = 0; at < one.elements(); ++at) {
      if (!SameElement(one.GetDouble(at), other.GetDouble(at))) return false;
    }
  }
  return true;
}

// The certificate of the rule in this style; nullopt if it cannot be trusted.
absl::StatusOr<std::optional<prove::Certificate>> TrustedCertificate(const Terms& terms,
                                                                     TermId left,
                                                                     const std::string& rule,
                                                                     const RuleStyle& style,
                                                                     const ProofOptions& options) {
  const std::vector<model::Graph> graphs = GraphsToTry(terms, left, style, options.seed);
  QUOTIENT_ASSIGN_OR_RETURN(prove::Certificate certificate,
                            prove::Certify(MakerOf(rule), graphs,
                                           {.instances = 0,
                                            .variations = options.instances,
                                            .symbolic = options.instances,
                                            .seed = options.seed}));
  if (!IsTrusted(certificate)) return std::nullopt;
  return certificate;
}

}  // namespace

absl::StatusOr<std::optional<Proof>> Prove(const Terms& terms, TermId left, TermId right,
                                           const ProofOptions& options) {
  constexpr float kZeros[] = {0, 0, 1, -1, 0.5, -2, 3, -10};
  constexpr float kInfinite = std::numeric_limits<float>::infinity();
  constexpr float kNan = std::numeric_limits<float>::quiet_NaN();
  constexpr float kInfinities[] = {0, 1, -1, 0.5, kInfinite, -kInfinite, kNan};
  const std::vector<RuleStyle>& styles = RuleStyles();
  // The narrowest style first: what is refuted even there is not worth other tries.
  const std::optional<std::string> narrowest = RuleText(terms, left, right, styles.back());
  if (!narrowest) return std::nullopt;
  QUOTIENT_ASSIGN_OR_RETURN(const bool agree, AgreeOn(terms, left, right, kZeros, options.seed));
  if (!agree) return std::nullopt;
  QUOTIENT_ASSIGN_OR_RETURN(std::optional<prove::Certificate> certificate,
                            TrustedCertificate(terms, left, *narrowest, styles.back(), options));
  if (!certificate) return std::nullopt;
  QUOTIENT_ASSIGN_OR_RETURN(const bool infinities,
                            AgreeOn(terms, left, right, kInfinities, options.seed));
  for (const RuleStyle& style : styles) {
    const std::string rule = *RuleText(terms, left, right, style);
    QUOTIENT_ASSIGN_OR_RETURN(certificate, TrustedCertificate(terms, left, rule, style, options));
    if (certificate) return Proof{rule, style, *std::move(certificate), infinities};
  }
  return std::nullopt;
}

}  // namespace quotient::generate
