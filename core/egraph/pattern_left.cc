#include "core/egraph/pattern_left.h"

#include <algorithm>
#include <utility>

#include "absl/strings/str_cat.h"
#include "core/base/status_macros.h"

namespace quotient::egraph {

absl::Status LeftCompiler::Compile() {
  for (const GuardText& guard : text_.guards) waiting_.push_back(&guard);
  return CompileRoots();
}

absl::Status LeftCompiler::CompileDelta(std::span<const Term* const> atoms, size_t seed) {
  for (const GuardText& guard : text_.guards) waiting_.push_back(&guard);
  earlier_ = atoms.first(seed);
  const Term& term = *atoms[seed];
  if (term.sort == Term::Sort::kWord) {
    Instruction scan;
    QUOTIENT_ASSIGN_OR_RETURN(scan.op, vocabulary_.op(term.name, ""));
    scan.node_class = NewRegisters(1);
    Emit(scan, &term);
    // Other occurrences of the word find its class here.
    program_.leaves.push_back({scan.op, scan.node_class});
    seed_register_ = scan.node_class;
  } else {
    QUOTIENT_ASSIGN_OR_RETURN(seed_register_, Scan(term));
  }
  seed_ = &term;
  QUOTIENT_RETURN_IF_ERROR(CompileRoots());
  if (term.sort == Term::Sort::kWord) program_.leaves.erase(program_.leaves.begin());
  return absl::OkStatus();
}

absl::Status LeftCompiler::CompileRoots() {
  program_.root_registers.assign(text_.left.size(), kNoIndex);
  std::vector<size_t> roots;
  for (size_t i = 0; i < text_.left.size(); ++i) roots.push_back(i);
  while (!roots.empty()) {
    // Takes the first root that can be reached; at the very start, the first one.
    const bool start = roots.size() == text_.left.size() && seed_ == nullptr;
    const auto next = std::ranges::find_if(roots, [&](size_t root) {
      return start || std::ranges::any_of(text_.left[root], [this](const Term& term) {
               return HasBoundVariable(term);
             });
    });
    if (next == roots.end()) {
      return absl::InvalidArgumentError("a left side shares no class variable with the others");
    }
    QUOTIENT_RETURN_IF_ERROR(CompileRoot(*next));
    roots.erase(next);
  }
  EmitReadyGuards();
  return absl::OkStatus();
}

absl::Status LeftCompiler::CompileRoot(size_t root) {
  const std::vector<Term>& equated = text_.left[root];
  if (std::ranges::any_of(equated, [](const Term& term) { return term.repeated; })) {
    return absl::InvalidArgumentError("a left side cannot be a list");
  }
  size_t used = equated.size();
  QUOTIENT_ASSIGN_OR_RETURN(const uint32_t class_register, Anchor(equated, used));
  program_.root_registers[root] = class_register;
  for (size_t i = 0; i < equated.size(); ++i) {
    if (i != used) QUOTIENT_RETURN_IF_ERROR(MatchInClass(equated[i], class_register));
  }
  EmitReadyGuards();
  return absl::OkStatus();
}

// Returns the register of the root's class, found by the term equated[used], the cheapest choice.
absl::StatusOr<uint32_t> LeftCompiler::Anchor(const std::vector<Term>& equated, size_t& used) {
  const auto find = [&](const auto& condition) {
    used = static_cast<size_t>(std::ranges::find_if(equated, condition) - equated.begin());
    return used < equated.size();
  };
  if (find([this](const Term& term) { return HasSeed(term); })) return Climb(equated[used]);
  if (find([this](const Term& term) { return IsBound(term); })) {
    QUOTIENT_ASSIGN_OR_RETURN(const uint32_t variable, names_.Find(equated[used].name, 'c'));
    return program_.variable_registers[variable];
  }
  if (find([](const Term& term) { return term.sort == Term::Sort::kWord; })) {
    return LeafRegister(equated[used]);
  }
  if (find([this](const Term& term) { return HasBoundVariable(term); })) {
    return Climb(equated[used]);
  }
  if (find([](const Term& term) { return term.sort == Term::Sort::kApply; })) {
    return Scan(equated[used]);
  }
  used = 0;  // There are only new variables.
  Instruction scan;
  scan.code = Instruction::Code::kScanClasses;
  scan.node_class = NewRegisters(1);
  Emit(scan, &equated[0]);
  QUOTIENT_RETURN_IF_ERROR(MatchVariable(equated[0], scan.node_class));
  return scan.node_class;
}

absl::StatusOr<uint32_t> LeftCompiler::Scan(const Term& term) {
  QUOTIENT_ASSIGN_OR_RETURN(Instruction scan, NodeInstruction(term));
  scan.code = Instruction::Code::kScan;
  scan.node_class = NewRegisters(1);
  Emit(scan, &term);
  QUOTIENT_RETURN_IF_ERROR(Children(term, scan.first_child, term.children.size()));
  return scan.node_class;
}

// Returns the register of the class of `term`, reached upwards from a bound variable in it.
absl::StatusOr<uint32_t> LeftCompiler::Climb(const Term& term) {
  if (&term == seed_) return seed_register_;
  auto child =
      std::ranges::find_if(term.children, [this](const Term& each) { return HasSeed(each); });
  if (child == term.children.end()) {
    child = std::ranges::find_if(term.children,
                                 [this](const Term& each) { return HasBoundVariable(each); });
  }
  const size_t position = static_cast<size_t>(child - term.children.begin());
  uint32_t from;
  if (child->sort == Term::Sort::kVariable) {
    QUOTIENT_ASSIGN_OR_RETURN(const uint32_t variable, names_.Find(child->name, 'c'));
    from = program_.variable_registers[variable];
  } else {
    QUOTIENT_ASSIGN_OR_RETURN(from, Climb(*child));
  }
  QUOTIENT_ASSIGN_OR_RETURN(Instruction up, NodeInstruction(term));
  up.code = Instruction::Code::kUp;
  up.input = from;
  up.position = static_cast<uint32_t>(position);
  up.node_class = NewRegisters(1);
  Emit(up, &term);
  QUOTIENT_RETURN_IF_ERROR(Children(term, up.first_child, position));
  return up.node_class;
}

absl::Status LeftCompiler::MatchInClass(const Term& term, uint32_t class_register) {
  if (&term == seed_) {
    Instruction same;
    same.code = Instruction::Code::kSameClass;
    same.input = class_register;
    same.other = seed_register_;
    Emit(same, &term);
    return absl::OkStatus();
  }
  if (term.sort == Term::Sort::kVariable) return MatchVariable(term, class_register);
  Instruction step;
  if (term.sort == Term::Sort::kWord) {
    step.code = Instruction::Code::kSameClass;
    QUOTIENT_ASSIGN_OR_RETURN(step.other, LeafRegister(term));
    step.input = class_register;
    Emit(step, &term);
    return absl::OkStatus();
  }
  QUOTIENT_ASSIGN_OR_RETURN(step, NodeInstruction(term));
  step.code = Instruction::Code::kDown;
  step.input = class_register;
  Emit(step, &term);
  return Children(term, step.first_child, term.children.size());
}

// Returns the conditions on an e-node that fits `term` and the registers of its children.
absl::StatusOr<Instruction> LeftCompiler::NodeInstruction(const Term& term) {
  Instruction step;
  step.earlier = IsEarlier(term);
  QUOTIENT_ASSIGN_OR_RETURN(step.kind, vocabulary_.kind(term.name));
  switch (term.brackets) {
    case Term::Brackets::kNone:
      break;
    case Term::Brackets::kText: {
      QUOTIENT_ASSIGN_OR_RETURN(step.op, vocabulary_.op(term.name, term.attributes));
      break;
    }
    case Term::Brackets::kVariable: {
      QUOTIENT_ASSIGN_OR_RETURN(step.op_variable, names_.Find(term.attributes, 'o'));
      step.op_bound = step.op_variable != kNoIndex;
      if (!step.op_bound) step.op_variable = names_.Define(term.attributes, 'o');
      break;
    }
    case Term::Brackets::kCall:
      return absl::InvalidArgumentError(
          absl::StrCat(term.attributes, "(..): operator words are built on the right only"));
  }
  size_t num_children = term.children.size();
  if (num_children > 0 && term.children.back().repeated) {
    const Term& rest = term.children.back();
    if (rest.sort != Term::Sort::kVariable || names_.SortOf(rest.name) != '\0') {
      return absl::InvalidArgumentError(
          absl::StrCat(term.name, ": on the left only a new variable can be a list"));
    }
    step.list = names_.Define(rest.name, 'l');
    --num_children;
  }
  step.num_children = static_cast<uint32_t>(num_children);
  step.first_child = NewRegisters(num_children);
  return step;
}

// Matches the children, which are in consecutive registers; first those that only compare or bind.
// `except` is the child through which the e-node was reached.
absl::Status LeftCompiler::Children(const Term& term, uint32_t first_child, size_t except) {
  for (const bool nested : {false, true}) {
    for (size_t i = 0; i < term.children.size(); ++i) {
      const Term& child = term.children[i];
      if (child.repeated && (i + 1 != term.children.size())) {
        return absl::InvalidArgumentError(absl::StrCat(term.name, ": a list must come last"));
      }
      if (i == except || child.repeated || nested != (child.sort == Term::Sort::kApply)) continue;
      QUOTIENT_RETURN_IF_ERROR(MatchInClass(child, first_child + static_cast<uint32_t>(i)));
    }
    if (!nested) EmitReadyGuards();
  }
  return absl::OkStatus();
}

absl::Status LeftCompiler::MatchVariable(const Term& term, uint32_t class_register) {
  if (term.repeated) return absl::InvalidArgumentError("a list can only be the last child");
  QUOTIENT_ASSIGN_OR_RETURN(const uint32_t variable, names_.Find(term.name, 'c'));
  if (variable == kNoIndex) {
    names_.Define(term.name, 'c');
    program_.variable_registers.push_back(class_register);
    return absl::OkStatus();
  }
  Instruction same;
  same.code = Instruction::Code::kSameClass;
  same.input = class_register;
  same.other = program_.variable_registers[variable];
  Emit(same, &term);
  return absl::OkStatus();
}

absl::StatusOr<uint32_t> LeftCompiler::LeafRegister(const Term& term) {
  QUOTIENT_ASSIGN_OR_RETURN(const OpId op, vocabulary_.op(term.name, ""));
  for (const Plan::Leaf& leaf : program_.leaves) {
    if (leaf.op == op) return leaf.class_register;
  }
  const bool old = std::ranges::any_of(earlier_, [&term](const Term* atom) {
    return atom->sort == Term::Sort::kWord && atom->name == term.name;
  });
  program_.leaves.push_back({op, NewRegisters(1), old});
  return program_.leaves.back().class_register;
}

bool LeftCompiler::HasBoundVariable(const Term& term) const {
  return &term == seed_ || IsBound(term) ||
         std::ranges::any_of(term.children,
                             [this](const Term& child) { return HasBoundVariable(child); });
}

void LeftCompiler::EmitReadyGuards() {
  std::erase_if(waiting_, [this](const GuardText* text) {
    const auto bound = [this](const Term& argument) {
      return argument.sort != Term::Sort::kVariable || names_.SortOf(argument.name) != '\0';
    };
    if (!std::ranges::all_of(text->arguments, bound)) return false;
    Instruction check;
    check.code = Instruction::Code::kGuard;
    check.guard = static_cast<uint32_t>(text - text_.guards.data());
    Emit(check, nullptr);
    return true;
  });
}

// Compiles the functions and arguments of the guards, once all variables are known.
absl::StatusOr<std::vector<CompiledGuard>> LeftCompiler::CompileGuards() const {
  std::vector<CompiledGuard> guards;
  for (const GuardText& text : text_.guards) {
    const auto guard = vocabulary_.guards.find(text.name);
    if (guard == vocabulary_.guards.end()) {
      return absl::InvalidArgumentError(absl::StrCat("unknown guard ", text.name));
    }
    absl::StatusOr<std::vector<Argument>> arguments =
        CompileGuardArguments(text.arguments, guard->second.signature, names_);
    if (!arguments.ok()) {
      return absl::InvalidArgumentError(
          absl::StrCat("guard ", text.name, ": ", arguments.status().message()));
    }
    guards.push_back({guard->second, text.negated, *std::move(arguments)});
  }
  return guards;
}

}  // namespace quotient::egraph
