#include "core/egraph/placed_match.h"

#include <algorithm>
#include <optional>
#include <utility>

#include "core/egraph/pattern_machine.h"

namespace quotient::egraph {
namespace {

using Code = Instruction::Code;

// Takes the matches whose classes are those that are wanted.
class Taker {
 public:
  // `seed`: the e-node that the search starts at, or an invalid one.
  Taker(const Plan& plan, const EGraph& graph, std::span<const ClassId> wanted, ENodeId seed,
        int64_t* steps, std::vector<PlacedMatch>* found)
      : plan_(plan),
        graph_(graph),
        wanted_(wanted),
        seed_(seed),
        wanted_in_(plan.num_registers),
        steps_(*steps),
        found_(*found) {
    size_t next = 0;
    for (const std::vector<uint32_t>& registers : {plan.root_registers, plan.variable_registers}) {
      for (const uint32_t at : registers) {
        if (next < wanted.size()) wanted_in_[at] = graph.Find(wanted[next++]);
      }
    }
  }
  void Watch(const PatternMachine<Taker>* machine) { machine_ = machine; }

  bool Reached(size_t /*at*/) { return true; }
  bool Tries() { return --steps_ >= 0; }
  // A class that is wanted must be the one that was found.
  bool Keeps(size_t at) {
    const Instruction& step = plan_.code[at];
    if (step.node_class != kNoIndex && !IsWanted(step.node_class)) return false;
    for (uint32_t i = 0; i < step.num_children; ++i) {
      if (!IsWanted(step.first_child + i)) return false;
    }
    return true;
  }
  bool GoesOn(size_t /*at*/, bool passes) { return passes; }

  bool Found() {
    Match match = machine_->ToMatch();
    const auto is_same = [this](ClassId a, ClassId b) { return graph_.Find(a) == graph_.Find(b); };
    if (!std::ranges::equal(match.classes, wanted_, is_same)) return true;
    const bool is_known = std::ranges::any_of(
        found_, [&](const PlacedMatch& other) { return other.match.ops == match.ops; });
    if (!is_known) found_.push_back({std::move(match), ENodes()});
    return true;
  }

 private:
  bool IsWanted(uint32_t in) const {
    return !wanted_in_[in].valid() || graph_.Find(machine_->reg(in)) == wanted_in_[in];
  }

  std::vector<ENodeId> ENodes() const {
    std::vector<ENodeId> enodes;
    if (seed_.valid()) enodes.push_back(seed_);
    for (size_t at = seed_.valid() ? 1 : 0; at < plan_.code.size(); ++at) {
      const Code code = plan_.code[at].code;
      const bool visits = code == Code::kScan || code == Code::kDown || code == Code::kUp;
      if (visits) enodes.push_back(machine_->enode(at));
    }
    for (const Plan::Leaf& leaf : plan_.leaves) enodes.push_back(graph_.LookupNode(leaf.op, {}));
    return enodes;
  }

  const Plan& plan_;
  const EGraph& graph_;
  const std::span<const ClassId> wanted_;
  const ENodeId seed_;
  std::vector<ClassId> wanted_in_;  // By register; invalid where any class will do.
  int64_t& steps_;
  std::vector<PlacedMatch>& found_;
  const PatternMachine<Taker>* machine_ = nullptr;
};

// A plan that starts at a term of a root.
struct RootPlan {
  const Plan* plan;
  size_t root;
};
std::optional<RootPlan> PlanFromRoot(const Program& program) {
  for (const Plan& plan : program.deltas) {
    for (size_t root = 0; root < program.text->left.size(); ++root) {
      for (const Term& term : program.text->left[root]) {
        if (plan.terms[0] == &term) return RootPlan{&plan, root};
      }
    }
  }
  return std::nullopt;
}

}  // namespace

std::vector<PlacedMatch> FindMatchesAt(const Program& program, const EGraph& graph,
                                       std::span<const ClassId> classes, int64_t* looked_at) {
  std::vector<PlacedMatch> found;
  int64_t steps = kMostLookedAt;
  const std::optional<RootPlan> from_root = PlanFromRoot(program);
  if (!from_root.has_value() || from_root->root >= classes.size()) {
    Taker taker(program.search, graph, classes, ENodeId(), &steps, &found);
    PatternMachine machine(program, program.search, graph, taker);
    taker.Watch(&machine);
    machine.Run();
  } else {
    const Instruction& first = from_root->plan->code[0];
    for (const ENodeId seed : graph.nodes(graph.Find(classes[from_root->root]))) {
      // A class may have thousands of e-nodes of other operators.
      const bool is_likely =
          first.op.valid() ? graph.node(seed).op == first.op : graph.kind(seed) == first.kind;
      if (!is_likely) continue;
      Taker taker(*from_root->plan, graph, classes, seed, &steps, &found);
      PatternMachine machine(program, *from_root->plan, graph, taker);
      taker.Watch(&machine);
      machine.RunAt(seed);
    }
  }
  if (looked_at != nullptr) *looked_at = kMostLookedAt - steps;
  return found;
}

}  // namespace quotient::egraph
