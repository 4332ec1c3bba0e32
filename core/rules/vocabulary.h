#pragma once

// Vocabulary: what the words of our rule texts mean. Words that several families use are defined in
// vocabulary.cc; a family adds its own through Words.

#include <functional>
#include <span>

#include "absl/strings/string_view.h"
#include "core/domain/tensor_domain.h"
#include "core/egraph/pattern.h"
#include "core/rules/terms.h"

namespace quotient::rules {

using egraph::Binding;

class Words {
 public:
  explicit Words(TensorDomain* domain);

  using GuardFn = std::function<bool(const View&, std::span<const Binding>)>;
  using TermFn = std::function<ClassId(Terms&, std::span<const Binding>)>;

  // Signatures as in egraph/pattern.h.
  void Guard(absl::string_view name, absl::string_view signature, GuardFn holds);
  // An invalid class: the rule does not apply.
  void Term(absl::string_view name, absl::string_view signature, TermFn build);

  const egraph::Vocabulary& vocabulary() const { return vocabulary_; }

 private:
  TensorDomain* const domain_;
  egraph::Vocabulary vocabulary_;
};

// The words that every family may use:
//
//   float(?x)            the element type is a floating-point type, and
//   reaches_far(?x)      it reaches at least as far as float32: what is scaled down later on does
//                        not overflow before
//   weight(?x)           can be computed from constants alone, and
//   activation(?x)       cannot
//   constant(?x)         the value itself is known
//   is(?x, 0.5)          all elements of a known constant are that number; one that float16 does
//                        not hold, such as 0.044715, up to two last bits of the constant's type
//   single(?x)           a floating-point type of at most 32 bits: attributes are float32, and ONNX
//                        Runtime lacks many functions of float64
//   shift(?c)            constant summands that may be added in another order,
//   summable(?c, ?d)     the same for two that meet,
//   factor(?c)           factors that may be multiplied in another order,
//   early_factor(?c)     and before others: see magnitudes.h
//   near_one(?c)         a number, not 0, that may be moved behind other activations
//   invertible(?c)       known divisors whose reciprocals are normal numbers
//   normalizable(?n, ?s, ?m, ?v)  what BatchNormalization ?n multiplies by is a factor
//   smooth(?x)           nothing that makes a jump of a last bit (Floor, Equal, ...) reads it, nor
//                        what is computed of it: see smooth.h
//   regular(?x)          nothing that is singular at zero (Sqrt, Log, Div, ...) reads it
//   finite_weight(?x)    (term) x, unless an element may be infinite or NaN
//   same(?x, ?y)         certainly the same type
//   keeps(?x, ?c)        broadcasting c against x leaves x's shape as it is
//   scalar(?c, ?x)       one element, and of no higher rank than x
//   has_rank(?x, 2)      of that rank
//   nonnegative(?x), never_nan(?x), below_infinity(?x)   facts of domain/facts.h
//   made_by(?x, Conv)    some e-node of the class is of that operator
//   reshape_to(?x, ?y)   (term) x in the shape of y
//
void AddCommonWords(Words& words);

}  // namespace quotient::rules
