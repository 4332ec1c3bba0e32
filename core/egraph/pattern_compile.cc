// Compiles rules: the plans by which left sides are found (pattern_left.h), guards, and the terms
// of right sides (pattern_right.cc).

#include "core/egraph/pattern_compile.h"

#include <algorithm>
#include <memory>
#include <utility>

#include "absl/strings/str_cat.h"
#include "core/base/status_macros.h"
#include "core/egraph/pattern_left.h"

namespace quotient::egraph {

absl::StatusOr<uint32_t> VariableNames::Find(absl::string_view name, char sort) const {
  const auto found = variables_.find(name);
  if (found == variables_.end()) return kNoIndex;
  if (found->second.first != sort) {
    return absl::InvalidArgumentError(
        absl::StrCat("?", name, " is used as two of: class, operator word, list"));
  }
  return found->second.second;
}

uint32_t VariableNames::Define(absl::string_view name, char sort) {
  const uint32_t index = count(sort);
  variables_.emplace(std::string(name), std::make_pair(sort, index));
  return index;
}

char VariableNames::SortOf(absl::string_view name) const {
  const auto found = variables_.find(name);
  return found == variables_.end() ? '\0' : found->second.first;
}

uint32_t VariableNames::Renumbered(const VariableNames& from, char sort, uint32_t index) const {
  const auto named = std::ranges::find_if(from.variables_, [&](const auto& variable) {
    return variable.second == std::make_pair(sort, index);
  });
  return variables_.at(named->first).second;
}

uint32_t VariableNames::count(char sort) const {
  return static_cast<uint32_t>(
      std::count_if(variables_.begin(), variables_.end(),
                    [sort](const auto& variable) { return variable.second.first == sort; }));
}

namespace {

// Collects the e-nodes of a left side, and each word once.
void CollectAtoms(const Term& term, std::vector<const Term*>& atoms) {
  if (term.sort == Term::Sort::kVariable) return;
  const bool known =
      term.sort == Term::Sort::kWord && std::ranges::any_of(atoms, [&term](const Term* atom) {
        return atom->sort == Term::Sort::kWord && atom->name == term.name;
      });
  if (!known) atoms.push_back(&term);
  for (const Term& child : term.children) CollectAtoms(child, atoms);
}

// Renumbers the variables of `plan` from the numbers in `from` to those in `to`.
void Renumber(const VariableNames& from, const VariableNames& to, Plan& plan) {
  const auto renumber = [&](uint32_t& index, char sort) {
    if (index != kNoIndex) index = to.Renumbered(from, sort, index);
  };
  for (Instruction& step : plan.code) {
    renumber(step.op_variable, 'o');
    renumber(step.list, 'l');
  }
  std::vector<uint32_t> registers(plan.variable_registers.size());
  for (uint32_t i = 0; i < registers.size(); ++i) {
    registers[to.Renumbered(from, 'c', i)] = plan.variable_registers[i];
  }
  plan.variable_registers = std::move(registers);
}

bool HasAtom(const std::vector<Term>& root) {
  return std::ranges::any_of(root,
                             [](const Term& term) { return term.sort != Term::Sort::kVariable; });
}

bool IsAnyClass(const RuleText& text, const Program& program) {
  return text.left.size() == 1 && !HasAtom(text.left[0]) && program.guards.empty();
}

// Whether only a change of an argument, or of its data, can make the guard pass.
bool PassesByChange(const CompiledGuard& guard) {
  const Guard::Otherwise otherwise = guard.guard.otherwise;
  return otherwise == Guard::Otherwise::kNothing ||
         otherwise == (guard.negated ? Guard::Otherwise::kRises : Guard::Otherwise::kFalls);
}

// By list, how many children stand before it.
std::vector<uint32_t> ListStarts(const Plan& plan, uint32_t num_lists) {
  std::vector<uint32_t> starts(num_lists, 0);
  for (const Instruction& step : plan.code) {
    if (step.list != kNoIndex) starts[step.list] = step.num_children;
  }
  return starts;
}

absl::Status CompileDeltas(const RuleText& text, const Vocabulary& vocabulary,
                           const VariableNames& names, Program& program) {
  std::vector<const Term*> atoms;
  for (const std::vector<Term>& root : text.left) {
    for (const Term& term : root) CollectAtoms(term, atoms);
  }
  for (size_t i = 0; i < atoms.size(); ++i) {
    LeftCompiler compiler(text, vocabulary);
    QUOTIENT_RETURN_IF_ERROR(compiler.CompileDelta(atoms, i));
    Plan plan = compiler.TakePlan();
    Renumber(compiler.names(), names, plan);
    program.deltas.push_back(std::move(plan));
  }
  return absl::OkStatus();
}

// Adds the guards that need nothing of a domain.
Vocabulary WithBuiltInGuards(const Vocabulary& vocabulary) {
  static const auto& distinct =
      *new Guard{"cc",
                 [](const EGraph& graph, std::span<const Binding> arguments) {
                   return graph.Find(arguments[0].id) != graph.Find(arguments[1].id);
                 },
                 Guard::Otherwise::kNothing};
  static const auto& before =
      *new Guard{"cc",
                 [](const EGraph& graph, std::span<const Binding> arguments) {
                   return graph.Find(arguments[0].id) < graph.Find(arguments[1].id);
                 },
                 Guard::Otherwise::kNothing};
  Vocabulary all = vocabulary;
  all.guards["distinct"] = distinct;
  all.guards["before"] = before;
  return all;
}

}  // namespace

absl::StatusOr<Program> CompileProgram(const RuleText& written, const Vocabulary& vocabulary) {
  // Plans point into the text.
  const auto kept = std::make_shared<const RuleText>(written);
  const RuleText& text = *kept;
  if (text.right.size() != text.left.size()) {
    return absl::InvalidArgumentError(
        absl::StrCat(text.left.size(), " left sides, but ", text.right.size(), " right sides"));
  }
  const Vocabulary all = WithBuiltInGuards(vocabulary);
  Program program;
  program.text = kept;
  program.name = text.name;
  program.equation = text.equation;
  LeftCompiler left(text, all);
  QUOTIENT_RETURN_IF_ERROR(left.Compile());
  QUOTIENT_ASSIGN_OR_RETURN(program.guards, left.CompileGuards());
  program.search = left.TakePlan();
  const VariableNames& names = left.names();
  program.is_any_class = IsAnyClass(text, program);
  if (std::ranges::all_of(text.left, HasAtom)) {
    QUOTIENT_RETURN_IF_ERROR(CompileDeltas(text, all, names, program));
    program.changes_tell = std::ranges::all_of(program.guards, PassesByChange);
  }
  program.num_op_variables = names.count('o');
  program.list_starts = ListStarts(program.search, names.count('l'));
  QUOTIENT_RETURN_IF_ERROR(CompileTerms(text, all, names, program));
  return program;
}

}  // namespace quotient::egraph
