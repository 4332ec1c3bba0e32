#include "tests/core/prove/guard_numbers.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <memory>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "core/base/rng.h"
#include "core/base/status_macros.h"
#include "core/domain/tensor_egraph.h"
#include "core/prove/idle_indices.h"
#include "tests/core/rules/soundness.h"

namespace quotient::prove {
namespace {

constexpr double kInfinity = std::numeric_limits<double>::infinity();
constexpr uint64_t kInputsPerGraph = 2;

double AnyOf(std::initializer_list<double> numbers, Rng& rng) {
  return numbers.begin()[rng.Below(numbers.size())];
}

// A kind of inputs.
struct Kind {
  const char* name;
  double (*element)(Rng& rng);
  bool is_finite = true;
};
constexpr Kind kKinds[] = {
    {"multiples of 1/7", [](Rng& rng) { return static_cast<double>(rng.Below(99)) / 7 - 7; }},
    {"numbers up to 1000", [](Rng& rng) { return rng.Uniform(-1000, 1000); }},
    {"numbers up to 1e18",
     [](Rng& rng) {
       return AnyOf({-1, 1}, rng) * std::pow(10, rng.Uniform(-18, 18));
     }},
    {"numbers up to 1e38",
     [](Rng& rng) {
       return AnyOf({-1, 1}, rng) * std::pow(10, rng.Uniform(-36, 38));
     }},
    {"infinities",
     [](Rng& rng) {
       return AnyOf({-kInfinity, -1, 0, 0.5, 3, kInfinity}, rng);
     }},
    {"NaN",
     [](Rng& rng) {
       return AnyOf({-1, 0, 0.5, 3, std::nan("")}, rng);
     }},
};

eval::ValueMap InputsOf(const model::Graph& graph, const Kind& kind, uint64_t seed) {
  eval::ValueMap inputs = rules::RandomInputs(graph, seed);
  Rng rng(seed, 23);
  for (auto& [id, tensor] : inputs) {
    if (!model::IsFloat(tensor.dtype())) continue;
    std::span<std::byte> buffer;
    const model::Tensor drawn = model::Tensor::Allocate(tensor.dtype(), tensor.dims(), &buffer);
    std::vector<double> elements(static_cast<size_t>(tensor.elements()));
    for (double& each : elements) each = kind.element(rng);
    model::Store(tensor.dtype(), buffer, 0, std::span<const double>(elements));
    tensor = drawn;
  }
  return inputs;
}

double ToleranceOf(const model::Graph& graph) {
  const bool is_short = std::ranges::any_of(graph.values, [](const model::Value& value) {
    return value.type.dtype == model::DType::kFloat16 ||
           value.type.dtype == model::DType::kBfloat16;
  });
  return is_short ? 3e-2 : 1e-4;
}

// Rules do not keep what becomes of infinities and NaN there (core/rules/README.md).
bool SpreadsNonFinite(const model::Graph& graph) {
  static constexpr absl::string_view kOperators[] = {
      "Attention", "AveragePool",       "Conv",   "ConvTranspose", "Einsum",
      "Gemm",      "GlobalAveragePool", "MatMul", "Resize",        "STFT"};
  return std::ranges::any_of(graph.nodes, [](const model::Node& node) {
    return std::ranges::find(kOperators, node.op) != std::end(kOperators);
  });
}

// A graph in which the rule was applied everywhere.
class Applied {
 public:
  static absl::StatusOr<Applied> Make(const RuleMaker& make_rule, const model::Graph& graph) {
    QUOTIENT_ASSIGN_OR_RETURN(domain::TensorEGraph tensors, domain::FromGraph(graph, graph));
    QUOTIENT_ASSIGN_OR_RETURN(const auto rule, make_rule(tensors.domain.get()));
    const egraph::Rule* const rules[] = {rule.get()};
    rules::Grow(tensors, rules, /*iterations=*/1);
    return Applied(std::move(tensors));
  }

  // What differs for inputs of this kind; empty if nothing does.
  std::string Difference(const Kind& kind, uint64_t seed) const {
    const model::Graph& graph = tensors_.original;
    if (!kind.is_finite && SpreadsNonFinite(graph)) return "";
    return rules::CheckSoundness(tensors_, InputsOf(graph, kind, seed), ToleranceOf(graph)).error;
  }

 private:
  explicit Applied(domain::TensorEGraph tensors) : tensors_(std::move(tensors)) {}
  domain::TensorEGraph tensors_;
};

absl::StatusOr<std::vector<Applied>> AppliedIn(const RuleMaker& make_rule,
                                               std::span<const model::Graph> graphs) {
  std::vector<Applied> all;
  for (const model::Graph& graph : graphs) {
    if (HasIdleIndices(graph)) continue;
    QUOTIENT_ASSIGN_OR_RETURN(Applied applied, Applied::Make(make_rule, graph));
    all.push_back(std::move(applied));
  }
  return all;
}

// Of the first graph in which something differs.
std::string FirstDifference(const std::vector<Applied>& all, const Kind& kind, uint64_t seed) {
  for (const Applied& applied : all) {
    for (uint64_t i = 0; i < kInputsPerGraph; ++i) {
      std::string difference = applied.Difference(kind, seed + i);
      if (!difference.empty()) return difference;
    }
  }
  return "";
}

}  // namespace

absl::StatusOr<std::string> DifferenceInNumbers(const NumberTrials& trials) {
  const rules::Purpose purpose = trials.purpose;
  const bool is_finite = purpose == rules::Purpose::kRounding || purpose == rules::Purpose::kRange;
  if (!is_finite && purpose != rules::Purpose::kNonFinite) return "";
  QUOTIENT_ASSIGN_OR_RETURN(const auto accepted, AppliedIn(trials.with, trials.accepted));
  QUOTIENT_ASSIGN_OR_RETURN(const auto guarded, AppliedIn(trials.with, trials.refused));
  QUOTIENT_ASSIGN_OR_RETURN(const auto unguarded, AppliedIn(trials.without, trials.refused));
  for (const Kind& kind : kKinds) {
    if (kind.is_finite != is_finite) continue;
    const std::string difference = FirstDifference(unguarded, kind, trials.seed);
    if (difference.empty()) continue;
    if (!FirstDifference(accepted, kind, trials.seed).empty()) continue;
    if (!FirstDifference(guarded, kind, trials.seed).empty()) continue;
    return absl::StrCat("for ", kind.name, ": ", difference);
  }
  return "";
}

}  // namespace quotient::prove
