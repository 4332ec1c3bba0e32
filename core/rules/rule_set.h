#pragma once

// RuleSet: the rules of one run, built for the domain of its e-graph.

#include <memory>
#include <span>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "core/domain/tensor_domain.h"
#include "core/egraph/rule.h"
#include "core/rules/family.h"

namespace quotient::rules {

class RuleSet {
 public:
  // In the order of the table, deterministic.
  std::span<const egraph::Rule* const> rules() const { return pointers_; }

 private:
  friend absl::StatusOr<RuleSet> BuildRules(TensorDomain* domain, int max_opset,
                                            std::span<const std::string> disabled);
  friend absl::StatusOr<RuleSet> BuildFamilies(TensorDomain* domain,
                                               std::span<const Family> families,
                                               std::span<const std::string> disabled);
  RuleList owned_;
  std::vector<const egraph::Rule*> pointers_;
};

// All rules but those named in `disabled`. No rewrite will need an opset beyond `max_opset`, except
// for operators that the model itself uses. Borrows the domain. OPTION_INVALID for a name that no
// rule has.
absl::StatusOr<RuleSet> BuildRules(TensorDomain* domain, int max_opset,
                                   std::span<const std::string> disabled);

// The same for a part of the table.
absl::StatusOr<RuleSet> BuildFamilies(TensorDomain* domain, std::span<const Family> families,
                                      std::span<const std::string> disabled);

// The table: one row per family.
std::span<const Family> AllFamilies();

// The names of all rules, in the order of the table.
std::vector<std::string> RuleNames();

}  // namespace quotient::rules
