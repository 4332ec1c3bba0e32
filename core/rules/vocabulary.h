#pragma once

// Vocabulary: the meaning of the guards and functions ("words") in rule texts. Words that several
// families use are defined in vocabulary.cc. A family adds its own words through Words.

#include <functional>
#include <optional>
#include <span>
#include <string>

#include "absl/container/flat_hash_map.h"
#include "absl/strings/string_view.h"
#include "core/domain/tensor_domain.h"
#include "core/egraph/pattern.h"
#include "core/rules/purpose.h"
#include "core/rules/terms.h"

namespace quotient::rules {

using egraph::Binding;

class Words {
 public:
  explicit Words(TensorDomain* domain);

  using GuardFn = std::function<bool(const View&, std::span<const Binding>)>;
  using TermFn = std::function<ClassId(Terms&, std::span<const Binding>)>;

  using Otherwise = egraph::Guard::Otherwise;

  // Add a guard or a function. egraph/pattern.h explains signatures, and what changes the answer of
  // a guard. `purpose` is what most rules use the guard for; guard_notes.h has the others.
  void Guard(absl::string_view name, absl::string_view signature, Purpose purpose, GuardFn holds,
             Otherwise otherwise = Otherwise::kNothing);
  // If `build` returns an invalid class, the rule does not apply.
  void Term(absl::string_view name, absl::string_view signature, TermFn build);

  const egraph::Vocabulary& vocabulary() const { return vocabulary_; }
  // Of a guard's word; nullopt if there is no such guard.
  std::optional<Purpose> purpose(absl::string_view guard) const;

 private:
  TensorDomain* const domain_;
  egraph::Vocabulary vocabulary_;
  absl::flat_hash_map<std::string, Purpose> purposes_;
};

// An operator word with attributes is written as a graph in text form has it: Concat[axis=1](..).
// Attributes that are not named have their default value.
//
// The words that every family may use:
//
//   float(?x)            x has a floating-point type.
//   reaches_far(?x)      x has a floating-point type with at least the range of float32, so that
//                        scaling down later does not lead to an overflow before.
//   single(?x)           x has a floating-point type of at most 32 bits. Attributes are float32,
//                        and many operators have no float64 kernel in ONNX Runtime.
//   weight(?x)           x can be computed from constants alone.
//   activation(?x)       x is present and is not a weight.
//   constant(?x)         The value of x is known.
//   is(?x, 0.5)          x is a known constant, and all its elements equal that number. If float16
//                        cannot represent the number, such as 0.044715, they may be off by two last
//                        bits of x's type.
//   shift(?c)            c may be added in another order (magnitudes.h).
//   shift_beside(?x, ?c)  c is a shift even for results of the size of x (unit.h).
//   shift_behind(?o, ?x, ?w, ?c)  The same for the contraction ?o of x and w.
//   summable(?c, ?d)     c and d may be added to each other first.
//   factor(?c)           c may be multiplied in another order.
//   early_factor(?c)     c may be multiplied before other factors.
//   near_one(?c)         c is not 0 and may be moved past other activations.
//   invertible(?c)       The reciprocals of c are normal numbers.
//   normalizable(?n, ?s, ?m, ?v)  What BatchNormalization ?n multiplies by is a factor.
//   smooth(?x)           No operator that turns a change of the last bit into a jump (Floor, Equal,
//                        ...) reads x, or reads what is computed from x (smooth.h).
//   regular(?x)          No operator that is singular at zero (Sqrt, Log, Div, ...) reads x.
//   finite_weight(?x)    Term: x, unless an element may be infinite or NaN.
//   same(?x, ?y)         x and y certainly have the same type.
//   keeps(?x, ?c)        Broadcasting c against x keeps the shape of x.
//   scalar(?c, ?x)       c has one element and no higher rank than x.
//   has_rank(?x, 2)      x has that rank.
//   same_rank(?x, ?y)    x and y have the same known rank.
//   has_elements(?x)     No dimension of x is 0.
//   has_pixels(?x)       No dimension of x behind its channels is 0 or a symbol.
//   along(?o, 1)         The operator word has this `axis`, or no other one among its `axes`.
//   one_axis(?o, ?p)     Both words have an axis in this sense, and it is the same one.
//   two_axes(?o, ?p)     Both have one, and they are not the same.
//   rises(?f)            The LeakyRelu ?f is rising.
//   pads_zeros(?p)       The Pad ?p puts zeros around.
//   bounded(?x)          All elements are at most 2^8, or NaN.
//   nonnegative(?x), never_nan(?x), below_infinity(?x)   Facts about all elements (domain/facts.h).
//   made_by(?x, Conv)    Some e-node of the class of x has that operator.
//   reshape_to(?x, ?y)   Term: x in the shape of y.
//
void AddCommonWords(Words& words);

}  // namespace quotient::rules
