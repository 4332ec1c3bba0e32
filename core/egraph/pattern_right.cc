// Compiles arguments and right sides: resolves variables, operator words and functions, and checks
// arguments against signatures.

#include <algorithm>
#include <utility>

#include "absl/strings/str_cat.h"
#include "core/base/status_macros.h"
#include "core/egraph/pattern_compile.h"

namespace quotient::egraph {
namespace {

absl::Status ArgumentError(size_t position, absl::string_view what) {
  return absl::InvalidArgumentError(absl::StrCat("argument ", position + 1, " is not ", what));
}

absl::string_view SortName(char sort) {
  switch (sort) {
    case 'c':
      return "a class";
    case 'o':
      return "an operator variable";
    case 'l':
      return "a list";
    default:
      return "a word";
  }
}

class RightCompiler {
 public:
  RightCompiler(const Vocabulary& vocabulary, const VariableNames& names)
      : vocabulary_(vocabulary), names_(names) {}

  // `lists` collects the lists whose elements the term uses. It is null outside of repetitions.
  absl::StatusOr<RightTerm> Compile(const Term& term, std::vector<uint32_t>* lists);

 private:
  absl::StatusOr<RightTerm> Repeated(const Term& term);
  absl::StatusOr<RightTerm> Variable(const Term& term, std::vector<uint32_t>* lists);
  absl::StatusOr<RightTerm> Apply(const Term& term, std::vector<uint32_t>* lists);
  absl::Status Operator(const Term& term, std::vector<uint32_t>* lists, RightTerm& right);
  absl::StatusOr<std::vector<Argument>> Arguments(const std::vector<Term>& terms,
                                                  absl::string_view signature,
                                                  std::vector<uint32_t>* lists);

  const Vocabulary& vocabulary_;
  const VariableNames& names_;
};

// Compiles what guards and builders have in common. For sort 'c' it takes only variables; the
// callers handle terms.
absl::StatusOr<Argument> PlainArgument(const Term& term, char sort, size_t position,
                                       const VariableNames& names) {
  Argument argument;
  argument.sort = sort;
  if (sort == 't') {
    if (term.sort != Term::Sort::kWord) return ArgumentError(position, SortName(sort));
    argument.text = term.name;
    return argument;
  }
  if (term.sort != Term::Sort::kVariable || names.SortOf(term.name) != sort ||
      (term.repeated && sort != 'l')) {
    return ArgumentError(position, SortName(sort));
  }
  QUOTIENT_ASSIGN_OR_RETURN(argument.variable, names.Find(term.name, sort));
  return argument;
}

absl::Status CheckCount(const std::vector<Term>& terms, absl::string_view signature) {
  if (terms.size() == signature.size()) return absl::OkStatus();
  return absl::InvalidArgumentError(
      absl::StrCat("wants ", signature.size(), " arguments, not ", terms.size()));
}

absl::StatusOr<RightTerm> RightCompiler::Compile(const Term& term, std::vector<uint32_t>* lists) {
  if (term.repeated) return Repeated(term);
  switch (term.sort) {
    case Term::Sort::kVariable:
      return Variable(term, lists);
    case Term::Sort::kApply:
      return Apply(term, lists);
    case Term::Sort::kWord:
      break;
  }
  RightTerm leaf;
  leaf.sort = RightTerm::Sort::kApply;
  QUOTIENT_ASSIGN_OR_RETURN(leaf.op, vocabulary_.op(term.name, ""));
  return leaf;
}

absl::StatusOr<RightTerm> RightCompiler::Repeated(const Term& term) {
  Term once = term;
  once.repeated = false;
  std::vector<uint32_t> lists;
  QUOTIENT_ASSIGN_OR_RETURN(RightTerm right, Compile(once, &lists));
  if (lists.empty()) return absl::InvalidArgumentError("'...' behind a term without a list");
  right.repeated = true;
  right.lists = std::move(lists);
  return right;
}

absl::StatusOr<RightTerm> RightCompiler::Variable(const Term& term, std::vector<uint32_t>* lists) {
  RightTerm right;
  if (names_.SortOf(term.name) == 'l' && lists != nullptr) {
    right.sort = RightTerm::Sort::kElement;
    QUOTIENT_ASSIGN_OR_RETURN(right.variable, names_.Find(term.name, 'l'));
    lists->push_back(right.variable);
    return right;
  }
  QUOTIENT_ASSIGN_OR_RETURN(right.variable, names_.Find(term.name, 'c'));
  if (right.variable == kNoIndex) {
    return absl::InvalidArgumentError(absl::StrCat("?", term.name, " is not bound"));
  }
  return right;
}

absl::StatusOr<RightTerm> RightCompiler::Apply(const Term& term, std::vector<uint32_t>* lists) {
  RightTerm right;
  const auto builder = vocabulary_.term_builders.find(term.name);
  if (builder != vocabulary_.term_builders.end() && term.brackets == Term::Brackets::kNone) {
    right.sort = RightTerm::Sort::kBuilder;
    right.term_builder = builder->second;
    absl::StatusOr<std::vector<Argument>> arguments =
        Arguments(term.children, builder->second.signature, lists);
    if (!arguments.ok()) {
      return absl::InvalidArgumentError(
          absl::StrCat(term.name, ": ", arguments.status().message()));
    }
    right.arguments = *std::move(arguments);
    return right;
  }
  right.sort = RightTerm::Sort::kApply;
  QUOTIENT_RETURN_IF_ERROR(Operator(term, lists, right));
  for (const Term& child : term.children) {
    QUOTIENT_ASSIGN_OR_RETURN(RightTerm compiled, Compile(child, lists));
    right.children.push_back(std::move(compiled));
  }
  return right;
}

absl::Status RightCompiler::Operator(const Term& term, std::vector<uint32_t>* lists,
                                     RightTerm& right) {
  switch (term.brackets) {
    case Term::Brackets::kNone:
    case Term::Brackets::kText: {
      QUOTIENT_ASSIGN_OR_RETURN(right.op, vocabulary_.op(term.name, term.attributes));
      return absl::OkStatus();
    }
    case Term::Brackets::kVariable: {
      QUOTIENT_ASSIGN_OR_RETURN(right.op_variable, names_.Find(term.attributes, 'o'));
      if (right.op_variable != kNoIndex) return absl::OkStatus();
      return absl::InvalidArgumentError(absl::StrCat("?", term.attributes, " is not bound"));
    }
    case Term::Brackets::kCall:
      break;
  }
  const auto builder = vocabulary_.op_builders.find(term.attributes);
  if (builder == vocabulary_.op_builders.end()) {
    return absl::InvalidArgumentError(absl::StrCat("unknown operator builder ", term.attributes));
  }
  right.op_builder = builder->second;
  absl::StatusOr<std::vector<Argument>> arguments =
      Arguments(term.arguments, builder->second.signature, lists);
  if (!arguments.ok()) {
    return absl::InvalidArgumentError(
        absl::StrCat(term.attributes, ": ", arguments.status().message()));
  }
  right.arguments = *std::move(arguments);
  return absl::OkStatus();
}

absl::StatusOr<std::vector<Argument>> RightCompiler::Arguments(const std::vector<Term>& terms,
                                                               absl::string_view signature,
                                                               std::vector<uint32_t>* lists) {
  QUOTIENT_RETURN_IF_ERROR(CheckCount(terms, signature));
  std::vector<Argument> arguments;
  for (size_t i = 0; i < terms.size(); ++i) {
    if (signature[i] != 'c') {
      QUOTIENT_ASSIGN_OR_RETURN(Argument plain, PlainArgument(terms[i], signature[i], i, names_));
      arguments.push_back(std::move(plain));
      continue;
    }
    if (terms[i].repeated) return ArgumentError(i, SortName('c'));
    Argument& argument = arguments.emplace_back();
    QUOTIENT_ASSIGN_OR_RETURN(RightTerm term, Compile(terms[i], lists));
    argument.term.push_back(std::move(term));
  }
  return arguments;
}

}  // namespace

absl::StatusOr<std::vector<Argument>> CompileGuardArguments(const std::vector<Term>& terms,
                                                            absl::string_view signature,
                                                            const VariableNames& names) {
  QUOTIENT_RETURN_IF_ERROR(CheckCount(terms, signature));
  std::vector<Argument> arguments;
  for (size_t i = 0; i < terms.size(); ++i) {
    QUOTIENT_ASSIGN_OR_RETURN(Argument plain, PlainArgument(terms[i], signature[i], i, names));
    arguments.push_back(std::move(plain));
  }
  return arguments;
}

absl::Status CompileTerms(const RuleText& text, const Vocabulary& vocabulary, VariableNames names,
                          Program& program) {
  RightCompiler compiler(vocabulary, names);
  for (const std::vector<Term>& equated : text.left) {
    const auto node = std::ranges::find(equated, Term::Sort::kApply, &Term::sort);
    const Term& shown = node == equated.end() ? equated.front() : *node;
    absl::StatusOr<RightTerm> term = compiler.Compile(shown, nullptr);
    program.left.push_back(term.ok() ? std::optional(*std::move(term)) : std::nullopt);
  }
  for (const LetText& let : text.lets) {
    if (names.SortOf(let.variable) != '\0') {
      return absl::InvalidArgumentError(absl::StrCat("?", let.variable, " is bound already"));
    }
    if (let.term.repeated) return absl::InvalidArgumentError("'let' of a list");
    QUOTIENT_ASSIGN_OR_RETURN(RightTerm term, compiler.Compile(let.term, nullptr));
    program.lets.push_back(std::move(term));
    names.Define(let.variable, 'c');
  }
  for (const Term& side : text.right) {
    if (side.repeated) return absl::InvalidArgumentError("a right side cannot be a list");
    QUOTIENT_ASSIGN_OR_RETURN(RightTerm term, compiler.Compile(side, nullptr));
    program.right.push_back(std::move(term));
  }
  return absl::OkStatus();
}

}  // namespace quotient::egraph
