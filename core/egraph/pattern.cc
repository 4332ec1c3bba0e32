// PatternRule implements Rule by a compiled program. Apply reads a match back into variables,
// builds the right sides bottom-up and unites.

#include "core/egraph/pattern.h"

#include <utility>

#include "absl/container/inlined_vector.h"
#include "absl/strings/str_cat.h"
#include "core/base/log.h"
#include "core/base/status_macros.h"
#include "core/egraph/pattern_program.h"
#include "core/egraph/pattern_text.h"

namespace quotient::egraph {
namespace {

// Builds right sides from the variables of one match. A missing result means that the rule does not
// apply.
class Builder {
 public:
  Builder(const Program& program, EGraph& graph, const Match& match, Origin origin);

  absl::StatusOr<bool> Apply();

 private:
  void Record() const;
  using MaybeClass = absl::StatusOr<std::optional<ClassId>>;

  MaybeClass Build(const RightTerm& term, size_t element);
  MaybeClass BuildNode(const RightTerm& term, size_t element);
  absl::StatusOr<bool> AppendRepeated(const RightTerm& term,
                                      absl::InlinedVector<ClassId, 4>& children);
  absl::StatusOr<std::optional<OpId>> Operator(const RightTerm& term, size_t element);
  // Returns false if an argument could not be built.
  absl::StatusOr<bool> Arguments(const RightTerm& term, size_t element,
                                 absl::InlinedVector<Binding, 4>& bindings);

  const Program& program_;
  EGraph& graph_;
  const Match& match_;
  const Origin origin_;
  std::span<const ClassId> roots_;
  absl::InlinedVector<ClassId, 8> variables_;
  std::span<const OpId> ops_;
  absl::InlinedVector<std::span<const ClassId>, 2> lists_;
};

Builder::Builder(const Program& program, EGraph& graph, const Match& match, Origin origin)
    : program_(program), graph_(graph), match_(match), origin_(origin) {
  std::span<const ClassId> classes = match.classes;
  const auto take = [&classes](size_t count) {
    const std::span<const ClassId> front = classes.first(count);
    classes = classes.subspan(count);
    return front;
  };
  roots_ = take(program.search.root_registers.size());
  const std::span<const ClassId> variables = take(program.search.variable_registers.size());
  variables_.assign(variables.begin(), variables.end());
  ops_ = match.ops;
  for (uint32_t i = 0; i < program.num_lists(); ++i) {
    lists_.push_back(take(ops_[program.num_op_variables + i].value()));
  }
}

absl::StatusOr<bool> Builder::Apply() {
  const uint32_t nodes_before = graph_.enode_bound();
  for (const RightTerm& let : program_.lets) {
    QUOTIENT_ASSIGN_OR_RETURN(const std::optional<ClassId> id, Build(let, 0));
    if (!id.has_value()) return false;
    variables_.push_back(*id);
  }
  absl::InlinedVector<ClassId, 2> rights;
  for (const RightTerm& right : program_.right) {
    QUOTIENT_ASSIGN_OR_RETURN(const std::optional<ClassId> id, Build(right, 0));
    if (!id.has_value()) return false;
    rights.push_back(*id);
  }
  bool changed = graph_.enode_bound() != nodes_before;
  Record();
  for (size_t i = 0; i < rights.size(); ++i) {
    QUOTIENT_ASSIGN_OR_RETURN(const bool united, graph_.Union(roots_[i], rights[i], origin_));
    changed |= united;
  }
  return changed;
}

void Builder::Record() const {
  if (graph_.proofs() == nullptr) return;
  std::vector<uint32_t> classes, ops;
  for (const ClassId id : match_.classes) classes.push_back(id.value());
  for (const OpId op : match_.ops) ops.push_back(op.value());
  graph_.proofs()->AddApplication(origin_, classes, ops);
}

Builder::MaybeClass Builder::Build(const RightTerm& term, size_t element) {
  switch (term.sort) {
    case RightTerm::Sort::kVariable:
      return variables_[term.variable];
    case RightTerm::Sort::kElement:
      return lists_[term.variable][element];
    case RightTerm::Sort::kApply:
      return BuildNode(term, element);
    case RightTerm::Sort::kBuilder:
      break;
  }
  absl::InlinedVector<Binding, 4> bindings;
  QUOTIENT_ASSIGN_OR_RETURN(const bool built, Arguments(term, element, bindings));
  if (!built) return std::nullopt;
  MaybeClass made = term.term_builder.build(graph_, bindings, origin_);
  if (!made.ok() && !IsTrouble(made.status())) return std::nullopt;
  return made;
}

Builder::MaybeClass Builder::BuildNode(const RightTerm& term, size_t element) {
  absl::InlinedVector<ClassId, 4> children;
  for (const RightTerm& child : term.children) {
    if (child.repeated) {
      QUOTIENT_ASSIGN_OR_RETURN(const bool built, AppendRepeated(child, children));
      if (!built) return std::nullopt;
      continue;
    }
    QUOTIENT_ASSIGN_OR_RETURN(const std::optional<ClassId> id, Build(child, element));
    if (!id.has_value()) return std::nullopt;
    children.push_back(*id);
  }
  QUOTIENT_ASSIGN_OR_RETURN(const std::optional<OpId> op, Operator(term, element));
  if (!op.has_value()) return std::nullopt;
  absl::StatusOr<ClassId> added = graph_.Add(*op, children, origin_);
  if (added.ok()) return *added;
  if (IsTrouble(added.status())) return added.status();
  return std::nullopt;
}

absl::StatusOr<bool> Builder::AppendRepeated(const RightTerm& term,
                                             absl::InlinedVector<ClassId, 4>& children) {
  const size_t count = lists_[term.lists.front()].size();
  for (uint32_t list : term.lists) {
    if (lists_[list].size() != count) return false;
  }
  for (size_t i = 0; i < count; ++i) {
    QUOTIENT_ASSIGN_OR_RETURN(const std::optional<ClassId> id, Build(term, i));
    if (!id.has_value()) return false;
    children.push_back(*id);
  }
  return true;
}

absl::StatusOr<std::optional<OpId>> Builder::Operator(const RightTerm& term, size_t element) {
  if (term.op_variable != kNoIndex) return ops_[term.op_variable];
  if (term.op.valid()) return term.op;
  absl::InlinedVector<Binding, 4> bindings;
  QUOTIENT_ASSIGN_OR_RETURN(const bool built, Arguments(term, element, bindings));
  if (!built) return std::nullopt;
  absl::StatusOr<std::optional<OpId>> made = term.op_builder.build(graph_, bindings);
  if (!made.ok() && !IsTrouble(made.status())) return std::nullopt;
  return made;
}

absl::StatusOr<bool> Builder::Arguments(const RightTerm& term, size_t element,
                                        absl::InlinedVector<Binding, 4>& bindings) {
  for (const Argument& argument : term.arguments) {
    Binding binding;
    switch (argument.sort) {
      case 'c': {
        QUOTIENT_ASSIGN_OR_RETURN(const std::optional<ClassId> id,
                                  Build(argument.term.front(), element));
        if (!id.has_value()) return false;
        binding.id = *id;
        break;
      }
      case 'o':
        binding.op = ops_[argument.variable];
        break;
      case 'l':
        binding.list = lists_[argument.variable];
        break;
      default:
        binding.text = argument.text;
    }
    bindings.push_back(binding);
  }
  return true;
}

class PatternRule : public Rule {
 public:
  explicit PatternRule(Program program) : program_(std::move(program)) {}

  const std::string& name() const override { return program_.name; }
  const std::string& equation() const override { return program_.equation; }
  std::string text() const override { return program_.source; }
  const Program* program() const override { return &program_; }
  size_t NumWords(const Match&) const override { return program_.num_op_variables; }
  void Search(const EGraph& graph, MatchSink& sink) const override {
    FindMatches(program_, graph, sink);
  }
  absl::StatusOr<bool> Apply(EGraph& graph, const Match& match, Origin origin) const override {
    return Builder(program_, graph, match, origin).Apply();
  }

 private:
  const Program program_;
};

absl::StatusOr<std::unique_ptr<Rule>> CompileNamed(absl::string_view text,
                                                   absl::string_view default_name,
                                                   absl::string_view equation,
                                                   const Vocabulary& vocabulary) {
  const auto error = [](absl::string_view name, const absl::Status& status) {
    return absl::InvalidArgumentError(
        absl::StrCat("rule ", Escaped(name), ": ", Escaped(status.message())));
  };
  absl::StatusOr<RuleText> parsed = ParseRuleText(text);
  if (!parsed.ok()) return error(text.substr(0, text.find(':')), parsed.status());
  if (parsed->name.empty()) parsed->name = std::string(default_name);
  const std::string source = parsed->equation;
  if (!equation.empty()) parsed->equation = std::string(equation);
  absl::StatusOr<Program> program = CompileProgram(*parsed, vocabulary);
  if (!program.ok()) return error(parsed->name, program.status());
  program->source = source;
  return std::make_unique<PatternRule>(*std::move(program));
}

absl::StatusOr<ClassId> AddGround(EGraph& graph, const Term& term, const Vocabulary& vocabulary,
                                  Origin origin) {
  if (term.sort == Term::Sort::kVariable || term.repeated ||
      (term.brackets != Term::Brackets::kNone && term.brackets != Term::Brackets::kText)) {
    return absl::InvalidArgumentError(
        absl::StrCat(Escaped(term.name), ": not a term without variables"));
  }
  std::vector<ClassId> children;
  for (const Term& child : term.children) {
    QUOTIENT_ASSIGN_OR_RETURN(const ClassId id, AddGround(graph, child, vocabulary, origin));
    children.push_back(id);
  }
  QUOTIENT_ASSIGN_OR_RETURN(const OpId op, vocabulary.op(term.name, term.attributes));
  return graph.Add(op, children, origin);
}

}  // namespace

absl::StatusOr<std::vector<std::unique_ptr<Rule>>> CompileRules(absl::string_view text,
                                                                const Vocabulary& vocabulary,
                                                                absl::string_view source) {
  std::vector<std::unique_ptr<Rule>> rules;
  for (const RuleLine& line : SplitRules(text)) {
    absl::StatusOr<std::unique_ptr<Rule>> rule =
        CompileNamed(line.text, absl::StrCat("rule-", rules.size() + 1), line.equation, vocabulary);
    if (!rule.ok()) {
      return absl::InvalidArgumentError(
          absl::StrCat(source, ":", line.number, ": ", rule.status().message()));
    }
    rules.push_back(*std::move(rule));
  }
  return rules;
}

absl::StatusOr<ClassId> AddTerm(EGraph& graph, absl::string_view text, const Vocabulary& vocabulary,
                                Origin origin) {
  QUOTIENT_ASSIGN_OR_RETURN(const Term term, ParseTerm(text));
  return AddGround(graph, term, vocabulary, origin);
}

}  // namespace quotient::egraph
