#include "core/egraph/near_match.h"

#include <algorithm>
#include <utility>

#include "core/egraph/pattern_machine.h"

namespace quotient::egraph {
namespace {

using Code = Instruction::Code;

// Steps of the machine for one question; a second or so at most.
constexpr int64_t kMostSteps = 1'000'000;

bool VisitsENodes(Code code) {
  return code == Code::kScan || code == Code::kDown || code == Code::kUp;
}

// Watches the machine run one plan from one e-node.
class Observer {
 public:
  Observer(const Program& program, const Plan& plan, ENodeId seed, int64_t* steps_left,
           NearMatches* result)
      : program_(program), plan_(plan), seed_(seed), steps_left_(*steps_left), result_(*result) {}
  void Watch(const PatternMachine<Observer>* machine) { machine_ = machine; }

  bool Reached(size_t at) {
    if (--steps_left_ < 0) {
      result_.cut_short = true;
      return false;
    }
    // What was found is described only where the search came further than ever, which is seldom.
    if (at < plan_.code.size() && at > furthest_ && plan_.code[at].code != Code::kGuard) {
      furthest_ = at;
      Offer(Described(at));
    }
    return true;
  }

  bool GoesOn(size_t at, bool passes) {
    passes_[at] = passes;
    return true;
  }

  bool Found() {
    furthest_ = plan_.code.size();
    NearMatch near = Described(plan_.code.size());
    near.match = machine_->ToMatch();
    for (size_t at = 0; at < plan_.code.size(); ++at) {
      if (plan_.code[at].code == Code::kGuard && !passes_[at]) {
        near.refused.push_back(Refused(plan_.code[at].guard));
      }
    }
    if (near.is_match()) {
      AddMatch(std::move(near.match));
    } else {
      Offer(std::move(near));
    }
    return result_.matches.size() < NearMatches::kMostMatches;
  }

  // The e-node has the operator of the first term, and yet does not fit.
  void OfferSeed(ClassId cls) {
    const Instruction& step = plan_.code[0];
    NearMatch near{.program = &program_};
    near.missing = {.step = step, .term = plan_.terms[0], .in = cls, .op = step.op};
    Offer(std::move(near));
  }

 private:
  // One match may be found from several e-nodes.
  void AddMatch(Match match) {
    const bool known = std::ranges::any_of(result_.matches, [&](const Match& other) {
      return other.classes == match.classes && other.ops == match.ops;
    });
    if (!known) result_.matches.push_back(std::move(match));
  }

  void Offer(NearMatch near) {
    if (!result_.nearest.has_value() || IsNearer(near, *result_.nearest)) {
      result_.nearest = std::move(near);
    }
  }

  NearMatch Described(size_t at) const {
    NearMatch near{.program = &program_, .steps = at};
    near.found.push_back({plan_.terms[0], seed_});
    for (size_t i = 1; i < at; ++i) {
      if (VisitsENodes(plan_.code[i].code)) {
        near.found.push_back({plan_.terms[i], machine_->enode(i)});
      }
    }
    if (at == plan_.code.size()) return near;
    const Instruction& step = plan_.code[at];
    NearMatch::Missing& missing = near.missing.emplace();
    missing.step = step;
    missing.term = plan_.terms[at];
    if (step.input != kNoIndex) missing.in = machine_->reg(step.input);
    if (step.other != kNoIndex) missing.other = machine_->reg(step.other);
    missing.op = step.op_bound ? machine_->ops()[step.op_variable] : step.op;
    return near;
  }

  RefusedGuard Refused(uint32_t guard) const {
    RefusedGuard refused{.guard = guard};
    for (const Binding& binding : machine_->ArgumentsOf(program_.guards[guard])) {
      refused.arguments.push_back(
          {binding.id, binding.op, {binding.list.begin(), binding.list.end()}});
    }
    return refused;
  }

  const Program& program_;
  const Plan& plan_;
  const ENodeId seed_;
  int64_t& steps_left_;
  NearMatches& result_;
  const PatternMachine<Observer>* machine_ = nullptr;
  size_t furthest_ = 0;
  std::vector<bool> passes_ = std::vector<bool>(plan_.code.size());  // By instruction: of guards.
};

}  // namespace

bool IsNearer(const NearMatch& a, const NearMatch& b) {
  if (a.missing.has_value() != b.missing.has_value()) return !a.missing.has_value();
  if (a.found.size() != b.found.size()) return a.found.size() > b.found.size();
  if (a.refused.size() != b.refused.size()) return a.refused.size() < b.refused.size();
  return a.steps > b.steps;
}

NearMatches FindNearMatches(const Program& program, const EGraph& graph,
                            std::span<const ENodeId> enodes) {
  NearMatches result;
  int64_t steps_left = kMostSteps;
  for (const Plan& plan : program.deltas) {
    for (const ENodeId enode : enodes) {
      Observer observer(program, plan, enode, &steps_left, &result);
      PatternMachine machine(program, plan, graph, observer);
      observer.Watch(&machine);
      const bool fits = machine.RunAt(enode);
      if (!fits && graph.kind(enode) == plan.code[0].kind)
        observer.OfferSeed(graph.class_of(enode));
    }
  }
  if (!result.matches.empty()) result.nearest.reset();
  return result;
}

}  // namespace quotient::egraph
