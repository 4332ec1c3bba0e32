#pragma once

// The compiled form of a rule: a program for a backtracking machine that finds the left sides, and
// trees that build the right sides. Variables are numbered per sort and have no names.

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "core/egraph/pattern.h"
#include "core/egraph/pattern_text.h"

namespace quotient::egraph {

inline constexpr uint32_t kNoIndex = 0xffffffffu;

struct RightTerm;

// An argument of a guard or a builder, with the sort letter of its signature.
struct Argument {
  char sort = 'c';
  uint32_t variable = kNoIndex;  // A variable of that sort; for 'c', kNoIndex if it is a term.
  std::string text;              // For 't'.
  std::vector<RightTerm> term;   // For 'c': at most one. A vector because the type is recursive.
};

struct RightTerm {
  enum class Sort {
    kVariable,  // A class variable.
    kElement,   // The element of a list variable in the current repetition.
    kApply,     // An e-node.
    kBuilder,   // A class made by a TermBuilder.
  };
  Sort sort = Sort::kVariable;
  uint32_t variable = kNoIndex;
  // If set, the term is built once for each element of `lists`.
  bool repeated = false;
  std::vector<uint32_t> lists;

  // For kApply: the operator word comes from a builder, from a variable, or is fixed.
  OpBuilder op_builder;
  uint32_t op_variable = kNoIndex;
  OpId op;
  std::vector<RightTerm> children;

  TermBuilder term_builder;
  std::vector<Argument> arguments;  // The arguments of either builder.
};

// One step of the machine. kScan, kScanClasses, kDown and kUp iterate over candidates, the others
// pass or fail. A class register holds the class of a pattern term; the children of an e-node get
// consecutive registers.
struct Instruction {
  enum class Code : uint8_t {
    kScan,  // E-nodes of a kind in the whole graph; as first step of a delta, the changed one.
    kScanClasses,  // Classes of the graph.
    kDown,         // E-nodes in the class of `input`.
    kUp,           // E-nodes that have the class of `input` as child `position`.
    kSameClass,    // Compares registers `input` and `other`.
    kGuard,
  };
  Code code = Code::kScan;
  uint32_t input = kNoIndex;
  uint32_t other = kNoIndex;
  uint32_t position = 0;
  uint32_t node_class = kNoIndex;  // kScan, kScanClasses, kUp: receives the class.

  // Conditions on the e-node.
  KindId kind;
  OpId op;  // If valid, required instead of the kind.
  uint32_t op_variable = kNoIndex;
  bool op_bound = false;      // The variable must be equal; otherwise it is set.
  uint32_t num_children = 0;  // A minimum if the rest goes to `list`.
  uint32_t list = kNoIndex;
  uint32_t first_child = kNoIndex;

  uint32_t guard = kNoIndex;

  // Only in a delta. True: the e-node must have changed before the one that the delta starts at,
  // because otherwise another delta finds the match. False: it must not have changed after that
  // one.
  bool earlier = false;

  friend bool operator==(const Instruction&, const Instruction&) = default;
};

// One order in which a left side can be found.
struct Plan {
  std::vector<Instruction> code;
  // Parallel to `code`: the term of Program::text that the step looks for, for those who ask why a
  // pattern does not match (near_match.h). Null for guards.
  std::vector<const Term*> terms;
  uint32_t num_registers = 0;
  // The leaves of the left side. Their classes are in registers before the machine starts.
  struct Leaf {
    OpId op;
    uint32_t class_register;
    bool earlier = false;  // As in Instruction.
  };
  std::vector<Leaf> leaves;
  std::vector<uint32_t> root_registers;
  std::vector<uint32_t> variable_registers;  // By class variable of the left side.
};

struct CompiledGuard {
  Guard guard;
  bool negated = false;
  std::vector<Argument> arguments;
};

struct Program {
  std::string name;
  std::string equation;
  std::string source;                    // Rule::text
  std::shared_ptr<const RuleText> text;  // What it was compiled from. Never null.
  std::vector<CompiledGuard> guards;     // Parallel to text->guards.
  Plan search;                           // Finds all matches.
  // For each e-node of the left side, a plan that finds the matches in which this e-node changed
  // last (ties go to the first e-node of the pattern). Started from all changed e-nodes, the plans
  // together find each new match once; where the data of a class changed, they also find the
  // earlier matches around it. Empty if a root is only a variable.
  std::vector<Plan> deltas;
  // Whether changes of e-nodes tell of all new matches. False if what is elsewhere in the graph
  // makes a guard pass, or if there are no deltas.
  bool changes_tell = false;
  // The left side is one variable without guards, so each class is a match.
  bool is_any_class = false;
  uint32_t num_op_variables = 0;
  std::vector<uint32_t> list_starts;  // By list, how many children stand before it.
  uint32_t num_lists() const { return static_cast<uint32_t>(list_starts.size()); }

  // The left sides as terms, one for each root, for explanations. A word without attributes matches
  // any word of that name; here it is the one that has none, or nullopt if there is no such word.
  std::vector<std::optional<RightTerm>> left;
  // Right side. Each `let` defines another class variable after those of the left side.
  std::vector<RightTerm> lets;
  std::vector<RightTerm> right;
};

// Errors that stop the search. Any other error of an e-graph means that the rule does not apply.
inline bool IsTrouble(const absl::Status& status) {
  return absl::IsInternal(status) || absl::IsResourceExhausted(status);
}

absl::StatusOr<Program> CompileProgram(const RuleText& text, const Vocabulary& vocabulary);

// Reports every match of the left side in a clean graph. Match.classes has the roots, the class
// variables and the elements of all lists; Match.ops has the operator variables and the lengths of
// all lists.
void FindMatches(const Program& program, const EGraph& graph, MatchSink& sink);

}  // namespace quotient::egraph
