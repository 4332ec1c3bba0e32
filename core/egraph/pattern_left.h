#pragma once

// Compiles left sides into plans. The first root is found by a scan over e-nodes of its kind and
// matched downwards. Every other root starts at a class variable that is bound already and climbs
// to its top through parents, so roots are joined on what they share. Each step is followed by the
// comparisons and then the guards that it made possible, before any step that multiplies
// candidates.

#include <algorithm>
#include <cstdint>
#include <span>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "core/egraph/pattern.h"
#include "core/egraph/pattern_compile.h"
#include "core/egraph/pattern_program.h"
#include "core/egraph/pattern_text.h"

namespace quotient::egraph {

// Compiles one plan of a rule, by either Compile or CompileDelta. Each plan takes a new compiler.
class LeftCompiler {
 public:
  // Borrows both. Built-in guards must be in the vocabulary.
  LeftCompiler(const RuleText& text, const Vocabulary& vocabulary)
      : text_(text), vocabulary_(vocabulary) {}

  // Compiles the plan that finds all matches. Fails with INVALID_ARGUMENT if the left sides are not
  // connected, or if a word, a guard or a variable makes no sense.
  absl::Status Compile();
  // Compiles the delta that starts at atoms[seed]; those before it must have changed earlier.
  absl::Status CompileDelta(std::span<const Term* const> atoms, size_t seed);
  // The guards of the rule, in the order of its text. Call it after the plan is compiled, when all
  // variables are known.
  absl::StatusOr<std::vector<CompiledGuard>> CompileGuards() const;

  Plan TakePlan() { return std::move(program_); }
  // The variables, numbered in the order in which the plan binds them.
  const VariableNames& names() const { return names_; }

 private:
  absl::Status CompileRoots();
  absl::Status CompileRoot(size_t root);
  absl::StatusOr<uint32_t> Anchor(const std::vector<Term>& equated, size_t& used);
  absl::Status MatchInClass(const Term& term, uint32_t class_register);
  absl::StatusOr<uint32_t> Scan(const Term& term);
  absl::StatusOr<uint32_t> Climb(const Term& term);
  absl::StatusOr<Instruction> NodeInstruction(const Term& term);
  absl::Status Children(const Term& term, uint32_t first_child, size_t except);
  absl::Status MatchVariable(const Term& term, uint32_t class_register);
  absl::StatusOr<uint32_t> LeafRegister(const Term& term);
  void EmitReadyGuards();
  // `term`: what the step looks for, as in Plan::terms.
  void Emit(const Instruction& step, const Term* term) {
    program_.code.push_back(step);
    program_.terms.push_back(term);
  }

  bool IsEarlier(const Term& term) const {
    return std::ranges::find(earlier_, &term) != earlier_.end();
  }
  bool HasSeed(const Term& term) const {
    return &term == seed_ ||
           std::ranges::any_of(term.children, [this](const Term& child) { return HasSeed(child); });
  }
  bool HasBoundVariable(const Term& term) const;
  bool IsBound(const Term& term) const {
    return term.sort == Term::Sort::kVariable && names_.SortOf(term.name) == 'c';
  }
  uint32_t NewRegisters(size_t count) {
    const uint32_t first = program_.num_registers;
    program_.num_registers += static_cast<uint32_t>(count);
    return first;
  }

  const RuleText& text_;
  const Vocabulary& vocabulary_;
  Plan program_;
  VariableNames names_;
  std::vector<const GuardText*> waiting_;  // Guards that still lack a variable.
  const Term* seed_ = nullptr;             // The atom of the delta, which is found already.
  uint32_t seed_register_ = kNoIndex;
  std::span<const Term* const> earlier_;  // Atoms that must have changed before the seed.
};

}  // namespace quotient::egraph
