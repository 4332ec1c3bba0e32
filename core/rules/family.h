#pragma once

// Family: the rules of one subject. A family is a text of pattern rules, the words that only they
// use, and rules written by hand where a pattern cannot say it (any number of siblings).

#include <memory>
#include <vector>

#include "absl/strings/string_view.h"
#include "core/domain/tensor_domain.h"
#include "core/egraph/rule.h"
#include "core/rules/vocabulary.h"

namespace quotient::rules {

using RuleList = std::vector<std::unique_ptr<egraph::Rule>>;

struct Family {
  const char* name;
  // Lines of one name are one rule: alternative left sides.
  const char* text;
  void (*add_words)(Words& words);                           // null: none of its own
  void (*add_rules)(TensorDomain* domain, RuleList& rules);  // null: none by hand
};

Family AlgebraFamily();
Family MatmulFamily();
Family ConvFamily();
Family FusionFamily();
Family LayoutFamily();
Family ConcatSplitFamily();
Family TransformerFamily();

}  // namespace quotient::rules
