#pragma once

// Pattern rules: rewrites written as one line of text, compiled against the vocabulary of a domain.
//
//   name: left {, left} => right {, right} [if guard(..) {and [not] guard(..)}]
//
//   comm-add:     (+ ?a ?b) => (+ ?b ?a)
//   relu-concat:  Relu(Concat[?c](?xs...)) => Concat[?c](Relu(?xs)...)
//   transpose-2:  Transpose[?p](Transpose[?q](?x)) => Transpose[compose(?p, ?q)](?x)
//   merge:        MatMul(?x, ?a), MatMul(?x, ?b) => first(?m, ?a), second(?m, ?b)
//                     let ?m = MatMul(?x, join(?a, ?b)) if before(?a, ?b) and constant(?a)
//
// Terms are written `Op(x, y)` or `(Op x y)` and may be mixed (`Op(` without a blank is the first
// form):
//   ?x             a class. The same variable twice means the same class.
//   Op(..)         left: any operator word of that kind. Right: the word without attributes.
//   Op[?c](..)     left: binds the whole operator word, or requires that very word if ?c is bound.
//                  Right: the bound word.
//   Op[text](..)   exactly this operator word, resolved once by the vocabulary: Flatten[axis=1].
//   Op[f(?p)](..)  right only: the word that OpBuilder `f` makes.
//   word           a leaf: the operator word `word` without children (1, -1, true, x).
//   ?xs...         left, as last child: binds the remaining children (maybe none) as a list.
//                  Right: inserts the list. On the right, `term...` is `term` once for each
//                  element of the lists in it, which must be equally long.
//   f(..)          right only, if the vocabulary has a TermBuilder `f`: the class that it makes.
//
// A left side may equate terms: `?y = Relu(?x)` names the class of a term, `true = (& ?a ?b)`
// requires a term in the class of another.
//
// The i-th right side becomes equal to the i-th left side. Several left sides must be connected by
// class variables; they are joined through the parents of a shared class instead of enumerating a
// product. `let ?m = term` (on the right before `if`; also `let ?m = .., ?n = ..`) names a term
// that is used several times. Arguments of guards and builders are variables of any sort and, on
// the right, terms; a bare word is passed as text. Built-in guards: distinct(?a, ?b) requires two
// classes, before(?a, ?b) an order of two classes, which selects one of two symmetric matches.
//
// A file of rules has one rule per line. Indented lines continue a rule; empty lines and `#`
// comments are skipped, except that a comment directly above a rule becomes its equation(). Search
// is deterministic, and a guard runs as soon as its variables are bound.

#include <concepts>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "core/egraph/egraph.h"
#include "core/egraph/rule.h"

namespace quotient::egraph {

// An argument of a guard or a builder. The signature says which member is set.
struct Binding {
  ClassId id;                     // 'c': a class variable, or a term built already.
  OpId op;                        // 'o': an operator word.
  std::span<const ClassId> list;  // 'l': a list of classes.
  absl::string_view text;         // 't': a bare word.
};

// What a guard asks. Two of them are equal if one is a copy of the other; two lambdas that do the
// same are not. Rules that ask the same of the same terms ask once (match_trie.h).
class GuardFunction {
 public:
  using Holds = std::function<bool(const EGraph& graph, std::span<const Binding> arguments)>;

  GuardFunction() = default;  // May not be called.
  template <std::convertible_to<Holds> Function>
  GuardFunction(Function holds)  // NOLINT: implicit on purpose
      : holds_(std::make_shared<const Holds>(std::move(holds))) {}

  bool operator()(const EGraph& graph, std::span<const Binding> arguments) const {
    return (*holds_)(graph, arguments);
  }
  friend bool operator==(const GuardFunction&, const GuardFunction&) = default;

 private:
  std::shared_ptr<const Holds> holds_;
};

// `signature` has one of the letters c, o, l, t for each argument. It is checked when a rule is
// compiled, so functions may index their arguments without checks.
struct Guard {
  std::string signature;
  GuardFunction holds;
  // When the answer for the same arguments may change, besides when an argument becomes another
  // class or the analysis reports that its data changed (Analysis::TakeChanged). A rule is matched
  // incrementally if no change of another kind makes one of its guards pass; whoever says that must
  // allow a match that passed to be applied later without asking again.
  enum class Otherwise {
    kAnything,  // It may change in either way. Rules with such a guard are searched from scratch.
    kFalls,     // From true to false, as the graph grows. `not` makes it kRises.
    kRises,     // From false to true. `not` makes it kFalls.
    kNothing,   // Never.
  };
  Otherwise otherwise = Otherwise::kAnything;
};

// Makes an operator word; nullopt means that the rule does not apply.
struct OpBuilder {
  std::string signature;
  std::function<absl::StatusOr<std::optional<OpId>>(const EGraph& graph,
                                                    std::span<const Binding> arguments)>
      build;
};

// Adds e-nodes and returns their class; nullopt means that the rule does not apply.
struct TermBuilder {
  std::string signature;
  std::function<absl::StatusOr<std::optional<ClassId>>(
      EGraph& graph, std::span<const Binding> arguments, Origin origin)>
      build;
};

// The meaning of the words of rule text in a domain. Rules copy the functions they use; what these
// refer to must outlive the rules.
struct Vocabulary {
  // The kind of an operator on the left. Fails for names that are no operator.
  std::function<absl::StatusOr<KindId>(absl::string_view name)> kind;
  // The operator word name[attributes]. `attributes` is empty for a bare name.
  std::function<absl::StatusOr<OpId>(absl::string_view name, absl::string_view attributes)> op;
  absl::flat_hash_map<std::string, Guard> guards;
  absl::flat_hash_map<std::string, OpBuilder> op_builders;
  absl::flat_hash_map<std::string, TermBuilder> term_builders;
};

// Compiles a file of rules. Rules without a name are called "rule-1", "rule-2", .. by position.
// Fails with INVALID_ARGUMENT if a text is no rule. Errors begin with the name of the file,
// `source`, and the line, and name the rule and the offending word:
// "rules.txt:3: rule comm-add: ..".
absl::StatusOr<std::vector<std::unique_ptr<Rule>>> CompileRules(absl::string_view text,
                                                                const Vocabulary& vocabulary,
                                                                absl::string_view source = "rules");

// Adds a term without variables and builders, such as "(+ x (cos x))", and returns its class.
absl::StatusOr<ClassId> AddTerm(EGraph& graph, absl::string_view text, const Vocabulary& vocabulary,
                                Origin origin = kInputOrigin);

}  // namespace quotient::egraph
