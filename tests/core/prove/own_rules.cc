#include "tests/core/prove/own_rules.h"

#include <algorithm>
#include <memory>
#include <span>
#include <utility>

#include "absl/strings/str_cat.h"
#include "core/base/status_macros.h"
#include "core/rules/rule_set.h"
#include "tests/core/rules/rule_cases.h"

namespace quotient::prove {
namespace {

// The family that has this rule; empty if none has.
std::span<const rules::Family> FamilyOf(const std::string& rule) {
  const std::span<const rules::Family> families = rules::AllFamilies();
  for (size_t i = 0; i < families.size(); ++i) {
    const std::vector<std::string> names = rules::RuleNames(families.subspan(i, 1));
    if (std::ranges::find(names, rule) != names.end()) return families.subspan(i, 1);
  }
  return {};
}

}  // namespace

RuleMaker MakerOf(const std::string& name) {
  return [name, family = FamilyOf(name)](
             domain::TensorDomain* domain) -> absl::StatusOr<std::shared_ptr<const egraph::Rule>> {
    domain->LimitOpset(rules::kNewestOpset);
    QUOTIENT_ASSIGN_OR_RETURN(rules::RuleSet made, rules::BuildFamilies(domain, family, {}));
    const auto set = std::make_shared<const rules::RuleSet>(std::move(made));
    for (const egraph::Rule* const rule : set->rules()) {
      if (rule->name() == name) return std::shared_ptr<const egraph::Rule>(set, rule);
    }
    return absl::NotFoundError(absl::StrCat("no rule is called ", name));
  };
}

}  // namespace quotient::prove
