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
  friend absl::StatusOr<RuleSet> BuildFamilies(TensorDomain* domain,
                                               std::span<const Family> families,
                                               std::span<const std::string> disabled);
  RuleList owned_;
  std::vector<const egraph::Rule*> pointers_;
};

// The table: one row per family.
std::span<const Family> AllFamilies();

// The rules of these families but those named in `disabled`. Borrows the domain. OPTION_INVALID for
// a name that no rule has.
absl::StatusOr<RuleSet> BuildFamilies(TensorDomain* domain, std::span<const Family> families,
                                      std::span<const std::string> disabled);

// The same, and no rewrite will need an opset beyond `max_opset`, except for operators that the
// model itself uses.
absl::StatusOr<RuleSet> BuildRules(TensorDomain* domain, int max_opset,
                                   std::span<const std::string> disabled,
                                   std::span<const Family> families = AllFamilies());

// The names of all rules of these families, in their order.
std::vector<std::string> RuleNames(std::span<const Family> families = AllFamilies());

}  // namespace quotient::rules
