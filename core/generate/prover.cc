#include "core/generate/prover.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <memory>
#include <set>
#include <span>
#include <utility>
#include <vector>

#include "absl/strings/match.h"
#include "core/base/rng.h"
#include "core/base/status_macros.h"
#include "core/egraph/pattern.h"
#include "core/eval/evaluator.h"
#include "core/generate/words.h"
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

// Instances of the left side that a rule in this style may apply in, the universe's own first.
class Instances {
 public:
  Instances(const Terms& terms, TermId left) : terms_(terms), left_(left) {
    instances_.push_back(terms.Small());
  }

  void WithOtherWords() {
    for (const TermId part : terms_.Parts(left_)) {
      if (terms_.term(part).is_variable()) continue;
      for (AttributeMap& attributes : AttributesToTry(terms_.op(part).name)) {
        Instance instance = terms_.Small();
        instance.words[terms_.term(part).op] = std::move(attributes);
        Add(std::move(instance));
      }
    }
  }
  void WithLowerRanks() {
    Instance all = terms_.Small();
    for (const int variable : terms_.VariablesOf(left_)) {
      Instance one = terms_.Small();
      for (Instance* each : {&one, &all}) {
        Ints& dims = each->dims[variable];
        if (!dims.empty()) dims.erase(dims.begin());
      }
      Add(std::move(one));
    }
    Add(std::move(all));
  }
  // With axes that the other variables have, so that they can be broadcast to each other.
  void WithHigherRanks() {
    std::set<int64_t> sizes = Sizes();
    sizes.insert(2);
    for (const int64_t size : sizes) {
      Instance all = terms_.Small();
      for (const int variable : terms_.VariablesOf(left_)) {
        Instance one = terms_.Small();
        for (Instance* each : {&one, &all}) {
          Ints& dims = each->dims[variable];
          dims.insert(dims.begin(), size);
        }
        Add(std::move(one));
      }
      Add(std::move(all));
    }
  }
  // One axis of one variable is shorter, and broadcast, or longer. Images are also larger than
  // their kernels meanwhile.
  void WithOtherAxes() {
    for (const Instance& base : {terms_.Small(), Roomy()}) {
      for (const int variable : terms_.VariablesOf(left_)) {
        for (size_t axis = 0; axis < base.dims[variable].size(); ++axis) {
          for (const int64_t size : {1, 2, 3}) {
            Instance instance = base;
            instance.dims[variable][axis] = size;
            Add(std::move(instance));
          }
        }
      }
    }
  }
  // Matrices that are square fit many an operator that they should not.
  void WithEqualAxes() {
    for (const int64_t size : {2, 3}) {
      Instance instance = terms_.Small();
      for (Ints& dims : instance.dims) std::ranges::fill(dims, size);
      Add(std::move(instance));
    }
  }
  // What holds because a window covers an image, or an axis has one element, does not hold there.
  void WithLongAxes() {
    constexpr int64_t kMore = 9;
    for (const int64_t size : Sizes()) WithSize(size, size + kMore);
  }
  // The largest number of none is an infinity.
  void WithEmptyAxes() {
    for (const int64_t size : Sizes()) WithSize(size, 0);
  }

  // What is said of one operator may fail for another one in another shape.
  void WithCombinations(uint64_t seed) {
    constexpr int kTries = 600;
    Rng rng(seed);
    const size_t count = instances_.size();
    for (int i = 0; i < kTries; ++i) {
      Instance instance = instances_[rng.Below(count)];
      instance.words = instances_[rng.Below(count)].words;
      Add(std::move(instance));
    }
  }

  std::vector<model::Graph> Graphs() const {
    std::vector<model::Graph> graphs;
    for (const Instance& instance : instances_) {
      auto graph = terms_.ToGraph(std::span(&left_, 1), instance);
      if (graph) graphs.push_back(*std::move(graph));
    }
    return graphs;
  }

 private:
  Instance Roomy() const {
    constexpr int64_t kMore = 4;
    Instance instance = terms_.Small();
    for (size_t i = 0; i < instance.dims.size(); ++i) {
      Ints& dims = instance.dims[i];
      if (terms_.universe().variables[i].is_weight || dims.size() != 4) continue;
      dims[2] += kMore;
      dims[3] += kMore;
    }
    return instance;
  }
  // The dimensions of variables of the left side, each once.
  std::set<int64_t> Sizes() const {
    std::set<int64_t> sizes;
    for (const int variable : terms_.VariablesOf(left_)) {
      const Ints& dims = terms_.universe().variables[variable].dims;
      sizes.insert(dims.begin(), dims.end());
    }
    return sizes;
  }
  // Dimensions that are equal often have to be.
  void WithSize(int64_t size, int64_t other) {
    Instance instance = terms_.Small();
    for (Ints& dims : instance.dims) std::ranges::replace(dims, size, other);
    Add(std::move(instance));
  }
  void Add(Instance instance) {
    const auto is_same = [&](const Instance& other) {
      return other.dims == instance.dims && other.words == instance.words;
    };
    if (std::ranges::none_of(instances_, is_same)) instances_.push_back(std::move(instance));
  }

  const Terms& terms_;
  const TermId left_;
  std::vector<Instance> instances_;
};

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
  Instances instances(terms, left);
  if (style.any_words) instances.WithOtherWords();
  if (!style.same_ranks) {
    instances.WithLowerRanks();
    instances.WithHigherRanks();
  }
  if (!style.has_elements) instances.WithEmptyAxes();
  instances.WithOtherAxes();
  instances.WithEqualAxes();
  instances.WithLongAxes();
  if (style.any_words) instances.WithCombinations(options.seed);
  const std::vector<model::Graph> graphs = instances.Graphs();
  QUOTIENT_ASSIGN_OR_RETURN(
      prove::Certificate certificate,
      prove::Certify(MakerOf(rule), graphs,
                     {.instances = static_cast<int>(graphs.size()) + options.instances,
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
