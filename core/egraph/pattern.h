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
// Terms, `Op(x, y)` or `(Op x y)`, freely mixed (`Op(` without a blank is the first form):
//   ?x             a class. The same variable twice: the same class.
//   Op(..)         left: any operator word of that kind. Right: the word without attributes.
//   Op[?c](..)     left: binds the whole operator word; bound already: that very word.
//                  Right: that word.
//   Op[text](..)   that very operator word, resolved by the vocabulary once: Flatten[axis=1].
//   Op[f(?p)](..)  right only: the word that OpBuilder `f` makes.
//   word           a leaf: the operator word `word` without children (1, -1, true, x).
//   ?xs...         left, as last child: binds the remaining children (perhaps none) as a list.
//                  Right: spliced in. `term...` on the right: `term` once for each element of the
//                  lists in it, which must be equally long.
//   f(..)          right only, if `f` is a TermBuilder of the vocabulary: the class that it makes.
//
// A left side may equate terms: `?y = Relu(?x)` names the class, `true = (& ?a ?b)` demands one.
//
// The i-th right side becomes equal to the i-th left side. Several left sides must hang together by
// class variables; they are joined through the parents of a shared class, not as a product.
// `let ?m = term` (right, before `if`; several: `let ?m = .., ?n = ..`) names a term used twice.
// Arguments of guards and builders: variables of any sort, on the right also terms; a bare word is
// handed over as text. Built-in guards: distinct(?a, ?b) (two classes), before(?a, ?b) (one order
// of two classes: takes one of two symmetric matches).
//
// A file of rules holds one per line; indented lines continue, empty lines and `#` comments are
// skipped, but a comment directly above a rule is its equation().
// Search is deterministic; guards run as soon as their variables are bound.

#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "core/egraph/egraph.h"
#include "core/egraph/rule.h"

namespace quotient::egraph {

// An argument of a guard or a builder; the signature says which member is set.
struct Binding {
  ClassId id;                     // 'c': a class variable, or a term built already
  OpId op;                        // 'o': an operator word
  std::span<const ClassId> list;  // 'l': a list of classes
  absl::string_view text;         // 't': a bare word
};

// `signature` has one of the letters c, o, l, t for each argument, checked when a rule is compiled,
// so that functions may index their arguments freely.
struct Guard {
  std::string signature;
  std::function<bool(const EGraph& graph, std::span<const Binding> arguments)> holds;
  // Its answer stays the same while neither one of its arguments becomes another class nor the
  // analysis says that the data of one changed (Analysis::TakeChanged); and what it held of may be
  // applied later, without asking again. Rules with other guards are searched from scratch.
  bool of_data = false;
};

// Makes an operator word; nothing: the rule does not apply here.
struct OpBuilder {
  std::string signature;
  std::function<absl::StatusOr<std::optional<OpId>>(const EGraph& graph,
                                                    std::span<const Binding> arguments)>
      build;
};

// Adds e-nodes and returns their class; nothing: the rule does not apply here.
struct TermBuilder {
  std::string signature;
  std::function<absl::StatusOr<std::optional<ClassId>>(
      EGraph& graph, std::span<const Binding> arguments, Origin origin)>
      build;
};

// What the words of rule text mean in a domain. Rules copy the functions they use; what those
// refer to must outlive the rules.
struct Vocabulary {
  // The kind of an operator on the left; an error for names that are no operator.
  std::function<absl::StatusOr<KindId>(absl::string_view name)> kind;
  // The operator word name[attributes]; `attributes` is empty for a bare name.
  std::function<absl::StatusOr<OpId>(absl::string_view name, absl::string_view attributes)> op;
  absl::flat_hash_map<std::string, Guard> guards;
  absl::flat_hash_map<std::string, OpBuilder> op_builders;
  absl::flat_hash_map<std::string, TermBuilder> term_builders;
};

// INVALID_ARGUMENT, naming the rule and the offending word, for text that is no rule.
absl::StatusOr<std::unique_ptr<Rule>> CompileRule(absl::string_view text,
                                                  const Vocabulary& vocabulary);

// A file of rules; rules without a name are called "rule-1", "rule-2", .. by their position. Errors
// begin with `source`, what the file is called, and the line: "rules.txt:3: rule comm-add: ..".
absl::StatusOr<std::vector<std::unique_ptr<Rule>>> CompileRules(absl::string_view text,
                                                                const Vocabulary& vocabulary,
                                                                absl::string_view source = "rules");

// Adds a term without variables and builders, as "(+ x (cos x))", and returns its class.
absl::StatusOr<ClassId> AddTerm(EGraph& graph, absl::string_view text, const Vocabulary& vocabulary,
                                Origin origin = kInputOrigin);

}  // namespace quotient::egraph
