#pragma once

// Idle rules: rules that are searched for like others, but whose matches are all refused in the
// end. They show what it costs to have more rules.

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "core/domain/tensor_domain.h"
#include "core/egraph/rule.h"

namespace quotient {

class IdleRules {
 public:
  // Adds `copies` of each rule. Borrows the rules.
  void AddCopies(std::span<const egraph::Rule* const> rules, int64_t copies);
  // Adds the rules of a file (core/egraph/pattern.h), with the words that all families share
  // (core/rules/vocabulary.h). Borrows the domain.
  absl::Status AddFile(const std::string& path, domain::TensorDomain* domain);

  std::span<const std::unique_ptr<egraph::Rule>> rules() const { return rules_; }

 private:
  std::vector<std::unique_ptr<egraph::Rule>> of_files_;
  std::vector<std::unique_ptr<egraph::Rule>> rules_;
};

}  // namespace quotient
