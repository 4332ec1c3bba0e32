#pragma once

// What rule text compiles to: a program for a backtracking machine that finds the left sides, and
// trees that build the right sides. Names are gone; variables are numbered per sort.

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "core/egraph/pattern.h"
#include "core/egraph/pattern_text.h"

namespace quotient::egraph {

inline constexpr uint32_t kNoIndex = 0xffffffffu;

struct RightTerm;

// An argument of a guard or a builder; the sorts are those of signatures.
struct Argument {
  char sort = 'c';
  uint32_t variable = kNoIndex;  // of that sort; for 'c' none if it is a term to build
  std::string text;              // 't'
  std::vector<RightTerm> term;   // 'c': one at most; a vector, since the type is recursive
};

struct RightTerm {
  enum class Sort {
    kVariable,  // a class variable
    kElement,   // of a list variable: the one of the current repetition
    kApply,     // an e-node
    kBuilder,   // what a TermBuilder makes
  };
  Sort sort = Sort::kVariable;
  uint32_t variable = kNoIndex;
  // Once for each element of `lists`; stands for as many terms.
  bool repeated = false;
  std::vector<uint32_t> lists;

  // kApply: the operator word is that of a builder, of a variable, or fixed.
  OpBuilder op_builder;
  uint32_t op_variable = kNoIndex;
  OpId op;
  std::vector<RightTerm> children;

  TermBuilder term_builder;
  std::vector<Argument> arguments;  // of either builder
};

// One step of the machine. kScan, kDown and kUp go through e-nodes, the others pass or fail. A
// class register holds the class of a pattern term; the children of an e-node get neighbouring
// registers.
struct Instruction {
  enum class Code : uint8_t {
    kScan,         // e-nodes of a kind in the whole graph; at the start of a delta: the changed one
    kScanClasses,  // classes of the graph
    kDown,         // e-nodes in the class of `input`
    kUp,           // e-nodes that have the class of `input` as child `position`
    kSameClass,    // registers `input` and `other`
    kGuard,
  };
  Code code = Code::kScan;
  uint32_t input = kNoIndex;
  uint32_t other = kNoIndex;
  uint32_t position = 0;
  uint32_t node_class = kNoIndex;  // kScan, kScanClasses, kUp: receives the class

  // Which e-nodes fit.
  KindId kind;
  OpId op;  // if valid, the very word instead of the kind
  uint32_t op_variable = kNoIndex;
  bool op_bound = false;      // the variable must agree, else it is set
  uint32_t num_children = 0;  // at least, if the rest goes to `list`
  uint32_t list = kNoIndex;
  uint32_t first_child = kNoIndex;

  uint32_t guard = kNoIndex;

  // In a delta: the e-node must have changed before the one that the delta starts at, else another
  // delta has the match. Others must not have changed after it.
  bool earlier = false;

  friend bool operator==(const Instruction&, const Instruction&) = default;
};

// One order in which a left side can be found.
struct Plan {
  std::vector<Instruction> code;
  uint32_t num_registers = 0;
  // Leaves of the left side: their classes are in the registers before the machine starts.
  struct Leaf {
    OpId op;
    uint32_t class_register;
    bool earlier = false;  // as in Instruction
  };
  std::vector<Leaf> leaves;
  std::vector<uint32_t> root_registers;
  std::vector<uint32_t> variable_registers;  // by class variable of the left side
};

struct CompiledGuard {
  Guard guard;
  bool negated = false;
  std::vector<Argument> arguments;
};

struct Program {
  std::string name;
  std::string equation;
  std::vector<CompiledGuard> guards;
  Plan search;  // finds all matches
  // For each e-node of the left side: finds the matches in which this one changed last (or at the
  // same time as others behind it). Started from all e-nodes that changed, they find each match
  // that is new once (and, where the data of a class changed, what was found around it before).
  // Empty if changes of e-nodes do not tell: a guard looks at more than data, or a root is nothing
  // but a variable.
  std::vector<Plan> deltas;
  // The left side is a variable, without guards: each class is a match.
  bool is_any_class = false;
  uint32_t num_op_variables = 0;
  uint32_t num_lists = 0;

  // What a match looks like, one term for each root. A word without attributes, which matches any
  // of that name, is the one that has none; nothing where there is no such word.
  std::vector<std::optional<RightTerm>> left;
  // Right side: class variables continue with one for each `let`.
  std::vector<RightTerm> lets;
  std::vector<RightTerm> right;
};

// An e-node that the analysis refuses means that the rule does not apply; these mean trouble.
inline bool IsTrouble(const absl::Status& status) {
  return absl::IsInternal(status) || absl::IsResourceExhausted(status);
}

absl::StatusOr<Program> CompileProgram(const RuleText& text, const Vocabulary& vocabulary);

// Reports every match of the left side in a clean graph. Match.classes are the roots, the class
// variables and the elements of all lists; Match.ops are the operator variables and the lengths of
// all lists.
void FindMatches(const Program& program, const EGraph& graph, MatchSink& sink);

}  // namespace quotient::egraph
