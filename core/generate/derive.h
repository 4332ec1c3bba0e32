#pragma once

// Derivation: whether rules make two terms equal. Both are put into one e-graph, in which the rules
// are applied until the terms are in one class, nothing changes, or a bound is reached.

#include <memory>
#include <span>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "core/domain/tensor_domain.h"
#include "core/egraph/egraph.h"
#include "core/generate/terms.h"
#include "core/rules/rule_set.h"

namespace quotient::generate {

struct DerivationLimits {
  int iterations = 3;
  int64_t enodes = 600;
  size_t matches = 200;  // Of one rule in one iteration.
};

// One thread. Not copyable, because rules refer to the domain.
class Deriver {
 public:
  // Knows that Add, Mul, Max and Min are commutative, and the present rules but for those named in
  // `without`; none of them if `with_rules` is false. Borrows the terms.
  static absl::StatusOr<std::unique_ptr<Deriver>> Create(const Terms* terms, bool with_rules,
                                                         std::span<const std::string> without);
  Deriver(const Deriver&) = delete;
  Deriver& operator=(const Deriver&) = delete;

  // Adds the rules of a text, as one group. INVALID_ARGUMENT if it is none.
  absl::Status AddRules(absl::string_view text);
  // Which one the next text will be.
  int num_groups() const { return num_groups_; }
  // From now on, the rules of a group are used or not.
  void SetUsed(int group, bool is_used);
  // Whether the terms are equal by the rules. False also where the bounds are too low.
  absl::StatusOr<bool> Derives(TermId left, TermId right, const DerivationLimits& limits = {});

 private:
  explicit Deriver(const Terms* terms) : terms_(*terms), graph_(&domain_, &domain_) {}
  absl::Status AddVariables();
  absl::StatusOr<egraph::ClassId> AddTerm(TermId id);
  absl::StatusOr<bool> Grow(egraph::ClassId left, egraph::ClassId right,
                            const DerivationLimits& limits);
  absl::StatusOr<bool> ApplyAll(const DerivationLimits& limits);

  const Terms& terms_;
  domain::TensorDomain domain_;
  egraph::EGraph graph_;
  std::vector<egraph::ClassId> variables_;
  rules::RuleSet present_;
  rules::RuleList added_;
  struct Known {
    const egraph::Rule* rule;
    int group;  // The present rules are no group, -1.
    bool is_used = true;
  };
  std::vector<Known> rules_;  // All of them.
  int num_groups_ = 0;
};

}  // namespace quotient::generate
