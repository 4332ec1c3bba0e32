// The machine that finds the matches of one rule from scratch: depth-first over the instructions,
// where each instruction that visits e-nodes is a choice point. It reads only the clean graph, in a
// deterministic order.

#include <span>

#include "absl/container/inlined_vector.h"
#include "core/egraph/pattern_program.h"

namespace quotient::egraph {
namespace {

class Machine {
 public:
  Machine(const Program& program, const EGraph& graph, MatchSink& sink)
      : program_(program),
        graph_(graph),
        sink_(sink),
        registers_(program.search.num_registers),
        ops_(program.num_op_variables),
        lists_(program.num_lists()) {}

  void Run() {
    for (const Plan::Leaf& leaf : program_.search.leaves) {
      const std::optional<ClassId> id = graph_.Lookup(leaf.op, {});
      if (!id.has_value()) return;
      registers_[leaf.class_register] = *id;
    }
    Step(0);
  }

 private:
  // Runs the program from instruction `at`. Returns false when the sink wants no more.
  bool Step(size_t at);
  template <typename Range>
  bool TryNodes(const Range& nodes, size_t at);
  bool TryUses(ClassId id, size_t at);
  bool Load(const Instruction& step, ENodeId id);
  bool Holds(const CompiledGuard& guard) const;
  bool Report() const;

  const Program& program_;
  const EGraph& graph_;
  MatchSink& sink_;
  std::vector<ClassId> registers_;
  std::vector<OpId> ops_;
  std::vector<std::span<const ClassId>>
      lists_;  // They point into the graph, which does not change.
};

bool Machine::Step(size_t at) {
  if (at == program_.search.code.size()) return Report();
  const Instruction& step = program_.search.code[at];
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
      return Holds(guard) == guard.negated || Step(at + 1);
    }
  }
  return true;
}

template <typename Range>
bool Machine::TryNodes(const Range& nodes, size_t at) {
  const Instruction& step = program_.search.code[at];
  for (ENodeId id : nodes) {
    if (Load(step, id) && !Step(at + 1)) return false;
  }
  return true;
}

// An e-node that has the class as several children is visited once for each position.
bool Machine::TryUses(ClassId id, size_t at) {
  const uint32_t position = program_.search.code[at].position;
  const NodeStore& store = graph_.store();
  for (UseId use = store.class_row(graph_.Find(id)).first_use; use.valid();
       use = store.NextUse(use)) {
    const ENodeId node = store.NodeOf(use);
    if (store.PositionOf(use) != position || !graph_.live(node)) continue;
    if (Load(program_.search.code[at], node) && !Step(at + 1)) return false;
  }
  return true;
}

// Whether the e-node fits. If so, puts its parts into registers.
bool Machine::Load(const Instruction& step, ENodeId id) {
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

bool Machine::Holds(const CompiledGuard& guard) const {
  absl::InlinedVector<Binding, 4> bindings;
  for (const Argument& argument : guard.arguments) {
    Binding& binding = bindings.emplace_back();
    switch (argument.sort) {
      case 'c':
        binding.id = registers_[program_.search.variable_registers[argument.variable]];
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
  return guard.guard.holds(graph_, bindings);
}

bool Machine::Report() const {
  Match match;
  match.classes.reserve(program_.search.root_registers.size() +
                        program_.search.variable_registers.size());
  for (uint32_t root : program_.search.root_registers) match.classes.push_back(registers_[root]);
  for (uint32_t variable : program_.search.variable_registers) {
    match.classes.push_back(registers_[variable]);
  }
  match.ops = ops_;
  for (const std::span<const ClassId>& list : lists_) {
    match.classes.insert(match.classes.end(), list.begin(), list.end());
    match.ops.emplace_back(static_cast<uint32_t>(list.size()));
  }
  return sink_.Add(std::move(match));
}

}  // namespace

void FindMatches(const Program& program, const EGraph& graph, MatchSink& sink) {
  Machine(program, graph, sink).Run();
}

}  // namespace quotient::egraph
