#include "core/egraph/right_program.h"

#include <algorithm>

#include "absl/container/inlined_vector.h"
#include "core/base/status_macros.h"

namespace quotient::egraph {

std::optional<RightProgram> RightProgram::Make(const Program& program) {
  if (program.num_lists() != 0) return std::nullopt;
  RightProgram right;
  right.num_roots_ = static_cast<uint32_t>(program.search.root_registers.size());
  right.num_variables_ = static_cast<uint32_t>(program.search.variable_registers.size());
  right.num_ops_ = program.num_op_variables;
  for (const RightTerm& let : program.lets) {
    const std::optional<uint32_t> made = right.Flatten(let);
    if (!made.has_value()) return std::nullopt;
    right.lets_.push_back(*made);
  }
  for (const RightTerm& side : program.right) {
    const std::optional<uint32_t> made = right.Flatten(side);
    if (!made.has_value()) return std::nullopt;
    right.rights_.push_back(*made);
  }
  return right;
}

std::optional<uint32_t> RightProgram::Flatten(const RightTerm& term) {
  if (term.repeated) return std::nullopt;
  if (term.sort == RightTerm::Sort::kVariable) {
    return term.variable < num_variables_ ? term.variable : lets_[term.variable - num_variables_];
  }
  if (term.sort != RightTerm::Sort::kApply) return std::nullopt;
  if (!term.op.valid() && term.op_variable == kNoIndex) return std::nullopt;
  Step step;
  step.op = term.op;
  step.op_variable = term.op_variable;
  std::vector<uint32_t> arguments;
  for (const RightTerm& child : term.children) {
    const std::optional<uint32_t> argument = Flatten(child);
    if (!argument.has_value()) return std::nullopt;
    arguments.push_back(*argument);
  }
  step.first_argument = static_cast<uint32_t>(arguments_.size());
  step.num_arguments = static_cast<uint32_t>(arguments.size());
  arguments_.insert(arguments_.end(), arguments.begin(), arguments.end());
  max_arguments_ = std::max(max_arguments_, arguments.size());
  steps_.push_back(step);
  return num_variables_ + static_cast<uint32_t>(steps_.size()) - 1;
}

absl::StatusOr<int64_t> RightProgram::ApplyBatch(EGraph& graph, std::span<const uint32_t> matches,
                                                 Origin origin, Batch& batch) const {
  const size_t words = match_size();
  const size_t count = matches.size() / words;
  if (!fits_batch()) {
    int64_t num_changed = 0;
    for (size_t i = 0; i < count; ++i) {
      QUOTIENT_ASSIGN_OR_RETURN(const bool changed,
                                Apply(graph, matches.subspan(i * words, words), origin));
      num_changed += changed;
    }
    return num_changed;
  }
  batch.Begin(matches, words);
  for (uint32_t v = 0; v < num_variables_; ++v) {
    for (size_t i = 0; i < count; ++i) {
      batch.values[v][i] = ClassId(batch.match(i)[num_roots_ + v]);
    }
  }
  const size_t last = steps_.size() - 1;
  for (size_t s = 0; s < last; ++s) {
    Prepare(graph, steps_[s], batch);
    QUOTIENT_RETURN_IF_ERROR(AddStep(graph, s, origin, batch));
  }
  Prepare(graph, steps_[last], batch);
  QUOTIENT_RETURN_IF_ERROR(AddLast(graph, origin, batch));
  // E-nodes that were added for a match that then failed to apply do not count.
  int64_t num_changed = 0;
  for (size_t i = 0; i < count; ++i) num_changed += batch.applies[i] && batch.changed[i];
  return num_changed;
}

void RightProgram::Prepare(const EGraph& graph, const Step& step, Batch& batch) const {
  for (size_t i = 0; i < batch.count; ++i) {
    batch.probes[i].op = Operator(step, batch.match(i));
    batch.probes[i].num_children = step.num_arguments;
  }
  for (size_t a = 0; a < 2; ++a) {
    const bool there = a < step.num_arguments;
    const ClassId* const from = there ? batch.values[arguments_[step.first_argument + a]] : nullptr;
    for (size_t i = 0; i < batch.count; ++i) {
      batch.probes[i].children[a] = there ? from[i] : ClassId();
    }
  }
  graph.Prepare({batch.probes, batch.count});
}

absl::Status RightProgram::AddStep(EGraph& graph, size_t step, Origin origin, Batch& batch) const {
  ClassId* const values = batch.values[num_variables_ + step];
  for (size_t i = 0; i < batch.count; ++i) {
    if (!batch.applies[i]) continue;
    const uint32_t nodes_before = graph.enode_bound();
    const absl::StatusOr<ClassId> made = graph.AddPrepared(batch.probes[i], origin);
    if (made.ok()) {
      values[i] = *made;
      batch.changed[i] |= graph.enode_bound() != nodes_before;
      continue;
    }
    if (IsTrouble(made.status())) return made.status();
    batch.applies[i] = false;
    values[i] = batch.root(i);  // Any class: later steps prepare it, but do not add it.
  }
  return absl::OkStatus();
}

absl::Status RightProgram::AddLast(EGraph& graph, Origin origin, Batch& batch) const {
  for (size_t i = 0; i < batch.count; ++i)
    graph.store().PrefetchClassToWrite(graph.Find(batch.root(i)));
  for (size_t i = 0; i < batch.count; ++i) {
    if (!batch.applies[i]) continue;
    Record(graph, batch.match(i), origin);
    const absl::StatusOr<bool> added = graph.AddPreparedTo(batch.root(i), batch.probes[i], origin);
    if (added.ok()) {
      batch.changed[i] |= *added;
      continue;
    }
    if (IsTrouble(added.status())) return added.status();
    batch.applies[i] = false;
  }
  return absl::OkStatus();
}

absl::StatusOr<bool> RightProgram::Apply(EGraph& graph, std::span<const uint32_t> match,
                                         Origin origin) const {
  absl::InlinedVector<ClassId, 16> values;
  for (uint32_t i = 0; i < num_variables_; ++i) values.push_back(ClassId(match[num_roots_ + i]));
  const uint32_t nodes_before = graph.enode_bound();
  absl::InlinedVector<ClassId, 4> children;
  const auto load = [&](const Step& step) {
    children.clear();
    for (uint32_t i = 0; i < step.num_arguments; ++i) {
      children.push_back(values[arguments_[step.first_argument + i]]);
    }
  };
  const size_t count = direct() ? steps_.size() - 1 : steps_.size();
  for (size_t i = 0; i < count; ++i) {
    load(steps_[i]);
    const absl::StatusOr<ClassId> made = graph.Add(Operator(steps_[i], match), children, origin);
    if (!made.ok()) {
      if (IsTrouble(made.status())) return made.status();
      return false;
    }
    values.push_back(*made);
  }
  bool changed = graph.enode_bound() != nodes_before;
  Record(graph, match, origin);
  if (direct()) {
    load(steps_.back());
    const absl::StatusOr<bool> added =
        graph.AddTo(ClassId(match[0]), Operator(steps_.back(), match), children, origin);
    if (added.ok()) return changed || *added;
    if (IsTrouble(added.status())) return added.status();
    return false;
  }
  for (size_t i = 0; i < rights_.size(); ++i) {
    QUOTIENT_ASSIGN_OR_RETURN(const bool united,
                              graph.Union(ClassId(match[i]), values[rights_[i]], origin));
    changed |= united;
  }
  return changed;
}

}  // namespace quotient::egraph
