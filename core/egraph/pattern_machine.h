#pragma once

// PatternMachine: runs one plan of a compiled rule over a clean e-graph, depth-first over the
// instructions, where each instruction that visits e-nodes is a choice point. It only reads, in a
// deterministic order. What watches it decides what is done with guards and with what is found, so
// that finding matches and asking why there is none (near_match.h) cannot disagree.

#include <cstdint>
#include <span>
#include <vector>

#include "absl/container/inlined_vector.h"
#include "core/egraph/egraph.h"
#include "core/egraph/pattern_program.h"

namespace quotient::egraph {

// `Watch` has these functions. Each that returns false ends the search, except Keeps and GoesOn.
//   bool Reached(size_t at): the machine is about to run instruction `at`; all before it fit.
//   bool Tries(): the machine is about to look at an e-node, or at a use of a class.
//   bool Keeps(size_t at): whether to go on with the e-node that fits instruction `at`.
//   bool GoesOn(size_t at, bool passes): whether to go on behind the guard at instruction `at`.
//   bool Found(): all instructions fit.
template <typename Watch>
class PatternMachine {
 public:
  // Borrows all. `plan` is one of the program's.
  PatternMachine(const Program& program, const Plan& plan, const EGraph& graph, Watch& watch)
      : program_(program),
        plan_(plan),
        graph_(graph),
        watch_(watch),
        registers_(plan.num_registers),
        ops_(program.num_op_variables),
        lists_(program.num_lists()) {}

  // Runs Program::search.
  void Run() {
    if (LookUpLeaves()) Step(0);
  }
  // Runs a delta (Program::deltas), with this live e-node for the one that the delta starts at.
  // Whether something changed later than something else does not count. Returns false if the e-node
  // does not fit the first term. Where a leaf of the pattern is not in the graph at all, nothing is
  // run and nothing is said of the e-node: the result is true.
  bool RunAt(ENodeId seed) {
    if (!LookUpLeaves()) return true;
    if (!Load(plan_.code[0], seed)) return false;
    if (watch_.Keeps(0)) Step(1);
    return true;
  }

  // --- What was found so far, for the watch

  ClassId reg(uint32_t index) const { return registers_[index]; }
  ENodeId enode(size_t at) const { return enodes_[at]; }  // That an instruction has visited.
  std::span<const OpId> ops() const { return ops_; }
  // The arguments of a guard. Valid while the machine stays where it is.
  absl::InlinedVector<Binding, 4> ArgumentsOf(const CompiledGuard& guard) const;
  // The match, once all instructions fit.
  Match ToMatch() const;

 private:
  // Returns false if a leaf of the pattern is not in the graph.
  bool LookUpLeaves() {
    for (const Plan::Leaf& leaf : plan_.leaves) {
      const std::optional<ClassId> id = graph_.Lookup(leaf.op, {});
      if (!id.has_value()) return false;
      registers_[leaf.class_register] = *id;
    }
    return true;
  }
  // Runs the plan from instruction `at`. Returns false when the watch wants no more.
  bool Step(size_t at);
  template <typename Range>
  bool TryNodes(const Range& nodes, size_t at);
  bool TryUses(ClassId id, size_t at);
  bool TryNode(ENodeId id, size_t at) {
    if (!Load(plan_.code[at], id)) return true;
    enodes_[at] = id;
    return !watch_.Keeps(at) || Step(at + 1);
  }
  bool Load(const Instruction& step, ENodeId id);

  const Program& program_;
  const Plan& plan_;
  const EGraph& graph_;
  Watch& watch_;
  std::vector<ClassId> registers_;
  std::vector<ENodeId> enodes_ = std::vector<ENodeId>(plan_.code.size());  // By instruction.
  std::vector<OpId> ops_;
  // They point into the graph, which does not change.
  std::vector<std::span<const ClassId>> lists_;
};

template <typename Watch>
bool PatternMachine<Watch>::Step(size_t at) {
  if (!watch_.Reached(at)) return false;
  if (at == plan_.code.size()) return watch_.Found();
  const Instruction& step = plan_.code[at];
  switch (step.code) {
    case Instruction::Code::kScan:
      return TryNodes(graph_.nodes_of_kind(step.kind), at);
    case Instruction::Code::kDown:
      return TryNodes(graph_.nodes(registers_[step.input]), at);
    case Instruction::Code::kUp:
      return TryUses(registers_[step.input], at);
    case Instruction::Code::kScanClasses:
      for (ClassId id : graph_.classes()) {
        registers_[step.node_class] = id;
        if (!Step(at + 1)) return false;
      }
      return true;
    case Instruction::Code::kSameClass:
      return registers_[step.input] != registers_[step.other] || Step(at + 1);
    case Instruction::Code::kGuard: {
      const CompiledGuard& guard = program_.guards[step.guard];
      const bool passes = guard.guard.holds(graph_, ArgumentsOf(guard)) != guard.negated;
      return !watch_.GoesOn(at, passes) || Step(at + 1);
    }
  }
  return true;
}

template <typename Watch>
template <typename Range>
bool PatternMachine<Watch>::TryNodes(const Range& nodes, size_t at) {
  for (ENodeId id : nodes) {
    if (!watch_.Tries() || !TryNode(id, at)) return false;
  }
  return true;
}

// An e-node that has the class as several children is visited once for each position.
template <typename Watch>
bool PatternMachine<Watch>::TryUses(ClassId id, size_t at) {
  const uint32_t position = plan_.code[at].position;
  const NodeStore& store = graph_.store();
  for (UseId use = store.class_row(graph_.Find(id)).first_use; use.valid();
       use = store.NextUse(use)) {
    if (!watch_.Tries()) return false;
    const ENodeId node = store.NodeOf(use);
    if (store.PositionOf(use) != position || !graph_.live(node)) continue;
    if (!TryNode(node, at)) return false;
  }
  return true;
}

// Whether the e-node fits. If so, puts its parts into registers.
template <typename Watch>
bool PatternMachine<Watch>::Load(const Instruction& step, ENodeId id) {
  const ENodeView node = graph_.node(id);
  if (step.list == kNoIndex ? node.children.size() != step.num_children
                            : node.children.size() < step.num_children) {
    return false;
  }
  if (step.op.valid() ? node.op != step.op : graph_.kind(id) != step.kind) return false;
  if (step.op_bound && ops_[step.op_variable] != node.op) return false;
  if (step.op_variable != kNoIndex) ops_[step.op_variable] = node.op;
  if (step.node_class != kNoIndex) registers_[step.node_class] = graph_.class_of(id);
  for (uint32_t i = 0; i < step.num_children; ++i) {
    registers_[step.first_child + i] = node.children[i];
  }
  if (step.list != kNoIndex) lists_[step.list] = node.children.subspan(step.num_children);
  return true;
}

template <typename Watch>
absl::InlinedVector<Binding, 4> PatternMachine<Watch>::ArgumentsOf(
    const CompiledGuard& guard) const {
  absl::InlinedVector<Binding, 4> bindings;
  for (const Argument& argument : guard.arguments) {
    Binding& binding = bindings.emplace_back();
    switch (argument.sort) {
      case 'c':
        binding.id = registers_[plan_.variable_registers[argument.variable]];
        break;
      case 'o':
        binding.op = ops_[argument.variable];
        break;
      case 'l':
        binding.list = lists_[argument.variable];
        break;
      default:
        binding.text = argument.text;
    }
  }
  return bindings;
}

template <typename Watch>
Match PatternMachine<Watch>::ToMatch() const {
  Match match;
  match.classes.reserve(plan_.root_registers.size() + plan_.variable_registers.size());
  for (uint32_t root : plan_.root_registers) match.classes.push_back(registers_[root]);
  for (uint32_t variable : plan_.variable_registers) match.classes.push_back(registers_[variable]);
  match.ops = ops_;
  for (const std::span<const ClassId>& list : lists_) {
    match.classes.insert(match.classes.end(), list.begin(), list.end());
    match.ops.emplace_back(static_cast<uint32_t>(list.size()));
  }
  return match;
}

}  // namespace quotient::egraph
