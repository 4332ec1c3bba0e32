#pragma once

// RuleSet: the rules of one run, built for the domain of its e-graph.

#include <memory>
#include <span>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "core/domain/tensor_domain.h"
#include "core/egraph/rule.h"
#include "core/rules/family.h"

namespace quotient::rules {

class RuleSet {
 public:
  // The rules in the order of the table, which is deterministic.
  std::span<const egraph::Rule* const> rules() const { return pointers_; }

 private:
  friend absl::StatusOr<RuleSet> BuildFamilies(TensorDomain* domain,
                                               std::span<const Family> families,
                                               std::span<const std::string> disabled);
  RuleList owned_;
  std::vector<const egraph::Rule*> pointers_;
};

// The table of families.
std::span<const Family> AllFamilies();

// Builds the rules of these families except those named in `disabled`. Borrows the domain.
// OPTION_INVALID for a name that no rule has.
absl::StatusOr<RuleSet> BuildFamilies(TensorDomain* domain, std::span<const Family> families,
                                      std::span<const std::string> disabled);

// As BuildFamilies, but no rewrite will need an opset above `max_opset`, except for operators that
// the model itself uses.
absl::StatusOr<RuleSet> BuildRules(TensorDomain* domain, int max_opset,
                                   std::span<const std::string> disabled,
                                   std::span<const Family> families = AllFamilies());

// The names of all rules of these families, in order. Builds the rules, because they have no names
// before.
std::vector<std::string> RuleNames(std::span<const Family> families = AllFamilies());

// RuleNames of all families, which are kept after the first call.
const std::vector<std::string>& AllRuleNames();

// What BuildFamilies says of `disabled` for all families, without building any.
absl::Status CheckDisabled(std::span<const std::string> disabled);

}  // namespace quotient::rules
