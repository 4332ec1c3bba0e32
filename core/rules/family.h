#pragma once

// Family: the rules on one subject. A family consists of pattern rules as text, the words that only
// these use, and site rules that a pattern cannot express (any number of siblings).

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
  // Pattern rules (egraph/pattern.h). Consecutive ones with the same name are alternative left
  // sides of one rule.
  const char* text;
  void (*add_words)(Words& words);  // Null if the family has none of its own.
  void (*add_rules)(TensorDomain* domain, RuleList& rules);  // Null if none is a site rule.
};

Family AlgebraFamily();
Family MatmulFamily();
Family ConvFamily();
Family GroupedConvFamily();
Family ChannelPaddingFamily();
Family ConvFormsFamily();
Family PoolFamily();
Family ReductionFamily();
Family FusionFamily();
Family LayoutFamily();
Family ConcatSplitFamily();
Family TransformerFamily();
Family AttentionFamily();
Family AttentionPartsFamily();
Family AttentionFormsFamily();
Family RotaryFamily();
Family QuantizedFamily();
Family PickFamily();
Family ShapeFamily();
Family PartsFamily();
Family LinearMapsFamily();
Family EinsumFamily();

}  // namespace quotient::rules
