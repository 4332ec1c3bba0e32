#include "core/egraph/near_match.h"

#include <algorithm>
#include <utility>

#include "core/egraph/pattern_machine.h"

namespace quotient::egraph {
namespace {

using Code = Instruction::Code;

// What one search may take, in e-nodes that are looked at; a second or so at most.
constexpr int64_t kMostSteps = 10'000'000;
// What a call of a guard counts as, since it may look at many classes.
constexpr int64_t kStepsOfGuard = 64;
// What a scan of the whole graph counts as: a step for so many e-nodes that it skips.
constexpr int64_t kSkippedPerStep = 16;
// The stop condition is checked after so many steps.
constexpr int64_t kStepsBetweenChecks = 4096;

// What is left of the steps of one search.
class Steps {
 public:
  explicit Steps(const StopCondition& stop) : stop_(stop) {}

  // Returns false, and will from then on, when no more may be taken.
  bool Take(int64_t count) {
    left_ -= count;
    until_check_ -= count;
    if (until_check_ <= 0) {
      until_check_ = kStepsBetweenChecks;
      if (stop_.ShouldStop()) left_ = -1;
    }
    return left_ >= 0;
  }

 private:
  const StopCondition& stop_;
  int64_t left_ = kMostSteps;
  int64_t until_check_ = 0;  // So that the first step checks.
};

bool VisitsENodes(Code code) {
  return code == Code::kScan || code == Code::kDown || code == Code::kUp;
}

// Watches the machine run one plan from one e-node.
class Observer {
 public:
  Observer(const Program& program, const Plan& plan, const EGraph& graph, ENodeId seed,
           Steps* steps, NearMatches* result)
      : program_(program),
        plan_(plan),
        steps_of_scan_(1 + graph.enode_bound() / kSkippedPerStep),
        seed_(seed),
        steps_(*steps),
        result_(*result) {}
  void Watch(const PatternMachine<Observer>* machine) { machine_ = machine; }

  bool Reached(size_t at) {
    if (!Take(at < plan_.code.size() ? StepsOf(plan_.code[at].code) : 1)) return false;
    // What was found is described only where the search came further than ever, which is seldom.
    if (at < plan_.code.size() && at > furthest_ && plan_.code[at].code != Code::kGuard) {
      furthest_ = at;
      Offer(Described(at));
    }
    return true;
  }

  bool Tries() { return Take(1); }

  bool Keeps(size_t /*at*/) { return true; }

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
    if (near.is_match()) return AddMatch(std::move(near.match));
    Offer(std::move(near));
    return true;
  }

  // The e-node has the operator of the first term, and yet does not fit.
  void OfferSeed(ClassId cls) {
    const Instruction& step = plan_.code[0];
    NearMatch near{.program = &program_};
    near.missing = {.step = step, .term = plan_.terms[0], .in = cls, .op = step.op};
    Offer(std::move(near));
  }

 private:
  bool Take(int64_t count) {
    if (steps_.Take(count)) return true;
    result_.cut_short = true;
    return false;
  }

  int64_t StepsOf(Code code) const {
    if (code == Code::kGuard) return kStepsOfGuard;
    return code == Code::kScan ? steps_of_scan_ : 1;
  }

  // One match may be found from several e-nodes. Returns false if there is no room for another one.
  bool AddMatch(Match match) {
    const bool known = std::ranges::any_of(result_.matches, [&](const Match& other) {
      return other.classes == match.classes && other.ops == match.ops;
    });
    if (known) return true;
    if (result_.matches.size() == NearMatches::kMostMatches) {
      result_.cut_short = true;
      return false;
    }
    result_.matches.push_back(std::move(match));
    return true;
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
    NearMatch::Missing missing = {.step = step, .term = plan_.terms[at]};
    if (step.input != kNoIndex) missing.in = machine_->reg(step.input);
    if (step.other != kNoIndex) missing.other = machine_->reg(step.other);
    missing.op = step.op_bound ? machine_->ops()[step.op_variable] : step.op;
    near.missing = missing;
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
  const int64_t steps_of_scan_;
  const ENodeId seed_;
  Steps& steps_;
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
                            std::span<const ENodeId> enodes, const StopCondition& stop) {
  NearMatches result;
  Steps steps(stop);
  for (const Plan& plan : program.deltas) {
    for (const ENodeId enode : enodes) {
      Observer observer(program, plan, graph, enode, &steps, &result);
      if (!observer.Tries()) break;
      PatternMachine machine(program, plan, graph, observer);
      observer.Watch(&machine);
      const bool fits = machine.RunAt(enode);
      if (!fits && graph.kind(enode) == plan.code[0].kind)
        observer.OfferSeed(graph.class_of(enode));
      if (result.cut_short) break;
    }
    if (result.cut_short) break;
  }
  if (!result.matches.empty()) result.nearest.reset();
  return result;
}

}  // namespace quotient::egraph
