#pragma once

// Idle rules: copies of rules that are searched for like the originals, but whose matches are all
// refused in the end. They show what it costs to have more rules.

#include <memory>
#include <span>
#include <vector>

#include "core/egraph/rule.h"

namespace quotient {

class IdleRules {
 public:
  // Makes `copies` of each rule. Borrows the rules.
  IdleRules(std::span<const egraph::Rule* const> rules, int64_t copies);

  std::span<const std::unique_ptr<egraph::Rule>> rules() const { return rules_; }

 private:
  std::vector<std::unique_ptr<egraph::Rule>> rules_;
};

}  // namespace quotient
