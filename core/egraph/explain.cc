#include "core/egraph/explain.h"

#include <algorithm>
#include <utility>

#include "absl/container/flat_hash_map.h"
#include "absl/container/flat_hash_set.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "core/egraph/pattern_program.h"

namespace quotient::egraph {
namespace {

// One recorded match, with its classes as terms.
class Instance {
 public:
  Instance(const Program& program, const ProofLog::Application& application,
           std::span<const TermId> term_of_class, TermTable& terms)
      : program_(program), terms_(terms), ops_(application.ops) {
    for (const uint32_t id : application.classes) classes_.push_back(term_of_class[id]);
    std::span<const TermId> rest = classes_;
    const auto take = [&rest](size_t count) {
      const std::span<const TermId> front = rest.first(count);
      rest = rest.subspan(count);
      return front;
    };
    roots_ = take(program.search.root_registers.size());
    const std::span<const TermId> variables = take(program.search.variable_registers.size());
    variables_.assign(variables.begin(), variables.end());
    for (uint32_t i = 0; i < program.num_lists(); ++i) {
      lists_.push_back(take(ops_[program.num_op_variables + i]));
    }
    for (const RightTerm& let : program.lets) {
      variables_.push_back(Build(let, 0).value_or(TermId()));
    }
  }

  std::span<const TermId> roots() const { return roots_; }
  // Left and Right return nullopt if builders take part.
  std::optional<TermId> Left(size_t root) {
    const std::optional<RightTerm>& left = program_.left[root];
    return left.has_value() ? Build(*left, 0) : std::nullopt;
  }
  std::optional<TermId> Right(size_t root) { return Build(program_.right[root], 0); }

 private:
  std::optional<TermId> Build(const RightTerm& term, size_t element) {
    if (term.sort == RightTerm::Sort::kElement) return lists_[term.variable][element];
    if (term.sort == RightTerm::Sort::kVariable) {
      const TermId id = variables_[term.variable];
      return id.valid() ? std::optional(id) : std::nullopt;
    }
    if (term.sort != RightTerm::Sort::kApply) return std::nullopt;
    OpId op = term.op;
    if (term.op_variable != kNoIndex) op = OpId(ops_[term.op_variable]);
    if (!op.valid()) return std::nullopt;
    std::vector<TermId> children;
    for (const RightTerm& child : term.children) {
      const size_t count = child.repeated ? lists_[child.lists.front()].size() : 1;
      for (size_t i = 0; i < count; ++i) {
        const std::optional<TermId> built = Build(child, child.repeated ? i : element);
        if (!built.has_value()) return std::nullopt;
        children.push_back(*built);
      }
    }
    return terms_.Add(op, children);
  }

  const Program& program_;
  TermTable& terms_;
  const std::span<const uint32_t> ops_;
  std::vector<TermId> classes_;
  std::span<const TermId> roots_;
  std::vector<TermId> variables_;
  std::vector<std::span<const TermId>> lists_;
};

}  // namespace

Explainer::Explainer(const EGraph& graph, std::span<const Rule* const> rules) {
  // When proofs are recorded each e-node makes a class, so both have the same numbers.
  std::vector<TermId> children;
  graph.proofs()->ForEachBirth(graph.store().rows().span(),
                               [&](OpId op, std::span<const ClassId> classes) {
                                 children.clear();
                                 for (ClassId id : classes)
                                   children.push_back(term_of_row_[id.value()]);
                                 term_of_row_.push_back(terms_.Add(op, children));
                               });
  forest_.TakeInTerms();
  Replay(graph, rules);
}

void Explainer::Replay(const EGraph& graph, std::span<const Rule* const> rules) {
  const std::span<const UnionRecord> unions = graph.proofs()->unions();
  size_t next = 0;
  const auto unite_before = [&](size_t end) {
    for (; next < end; ++next) {
      // The forest derives congruences itself.
      if (unions[next].origin == kCongruence) continue;
      forest_.Unite(term_of_row_[unions[next].a.value()], term_of_row_[unions[next].b.value()],
                    unions[next].origin);
    }
  };
  graph.proofs()->ForEachApplication([&](const ProofLog::Application& application) {
    unite_before(application.unions_before);
    if (application.origin == kInputOrigin || application.origin > rules.size()) return;
    const Program* const program = rules[application.origin - 1]->program();
    if (program == nullptr) return;
    Instance instance(*program, application, term_of_row_, terms_);
    for (size_t root = 0; root < instance.roots().size(); ++root) {
      const std::optional<TermId> left = instance.Left(root), right = instance.Right(root);
      forest_.TakeInTerms();
      // A pattern's word without attributes matches any word of that name, and the match does not
      // record which. Then the left side is another term, and only the union itself is known.
      if (!left.has_value() || !right.has_value()) continue;
      if (!forest_.Equal(*left, instance.roots()[root])) continue;
      forest_.Unite(*left, *right, application.origin);
    }
  });
  unite_before(unions.size());
}

TermId Explainer::Add(OpId op, std::span<const TermId> children) {
  const TermId id = terms_.Add(op, children);
  forest_.TakeInTerms();
  return id;
}

std::optional<RewriteStep> Explainer::FirstWholeStep(TermId from, TermId to) const {
  for (const ProofForest::Step& step : forest_.Path(from, to)) {
    if (step.origin == kCongruence) continue;
    return RewriteStep{step.origin, step.forward, step.from, step.to};
  }
  return std::nullopt;
}

// Uses an explicit stack because terms may be deeper than the call stack allows.
std::vector<RewriteStep> Explainer::Explain(TermId from, TermId to) const {
  struct Task {
    ProofForest::Step step;
    bool is_pair;  // An equality whose path is still to be found.
  };
  std::vector<RewriteStep> steps;
  absl::flat_hash_set<uint32_t> told;                     // Edges.
  absl::flat_hash_set<std::pair<TermId, TermId>> walked;  // Pairs.
  std::vector<Task> tasks = {{{from, to, kCongruence, true, 0}, true}};
  while (!tasks.empty()) {
    const auto [step, is_pair] = tasks.back();
    tasks.pop_back();
    if (is_pair) {
      if (step.from == step.to || !walked.emplace(step.from, step.to).second) continue;
      const std::vector<ProofForest::Step> path = forest_.Path(step.from, step.to);
      for (auto at = path.rbegin(); at != path.rend(); ++at) tasks.push_back({*at, false});
    } else if (step.origin == kCongruence) {
      const auto before = terms_.children(step.from), after = terms_.children(step.to);
      for (size_t i = before.size(); i-- > 0;) {
        tasks.push_back({{before[i], after[i], kCongruence, true, 0}, true});
      }
    } else if (told.insert(step.edge).second) {
      steps.push_back({step.origin, step.forward, step.from, step.to});
    }
  }
  return steps;
}

namespace {

// A list of links from which detours that return to an earlier term are cut out.
class ChainBuilder {
 public:
  explicit ChainBuilder(TermId from) { length_at_.emplace(from, 0); }

  void Append(const ChainLink& link) {
    const auto [at, fresh] = length_at_.try_emplace(link.whole, links_.size() + 1);
    if (fresh) {
      links_.push_back(link);
      return;
    }
    for (; links_.size() > at->second; links_.pop_back()) length_at_.erase(links_.back().whole);
  }
  size_t size() const { return links_.size(); }
  std::vector<ChainLink> Take() { return std::move(links_); }

 private:
  std::vector<ChainLink> links_;
  absl::flat_hash_map<TermId, size_t> length_at_;  // How many links lead to a term.
};

}  // namespace

std::optional<std::vector<ChainLink>> Explainer::Chain(TermId from, TermId to, size_t max_links) {
  constexpr int kMaxDepth = 1000;
  return Expand(from, to, max_links, kMaxDepth);
}

std::optional<std::vector<ChainLink>> Explainer::Expand(TermId from, TermId to, size_t max_links,
                                                        int depth) {
  if (depth == 0) return std::nullopt;
  ChainBuilder chain(from);
  for (const ProofForest::Step& step : forest_.Path(from, to)) {
    if (step.origin != kCongruence) {
      chain.Append({step.to, {step.origin, step.forward, step.from, step.to}});
    } else {
      const auto before = terms_.children(step.from), after = terms_.children(step.to);
      std::vector<TermId> children(before.begin(), before.end());
      const std::vector<TermId> goal(after.begin(), after.end());
      for (size_t i = 0; i < children.size(); ++i) {
        const auto inside = Expand(children[i], goal[i], max_links, depth - 1);
        if (!inside.has_value()) return std::nullopt;
        for (const ChainLink& link : *inside) {
          children[i] = link.whole;
          chain.Append({terms_.Add(terms_.op(step.from), children), link.step});
        }
      }
    }
    if (chain.size() > max_links) return std::nullopt;
  }
  return chain.Take();
}

namespace {

std::string RuleName(std::span<const Rule* const> rules, Origin origin) {
  if (origin == kInputOrigin) return "the input";
  if (origin == kAnalysis) return "folding";
  return origin <= rules.size() ? rules[origin - 1]->name() : absl::StrCat("rule ", origin);
}

std::string DerivationText(const EGraph& graph, const Explainer& explainer,
                           std::span<const Rule* const> rules, ClassId id) {
  constexpr int kMaxDepth = 3;
  const auto text = [&](TermId term) {
    return explainer.terms().Text(term, graph.table(), kMaxDepth);
  };
  const TermId made = explainer.TermOf(id);
  for (uint32_t i = 0; i < graph.enode_bound(); ++i) {
    const TermId given = explainer.TermOf(ENodeId(i));
    if (graph.origin(ENodeId(i)) != kInputOrigin || !explainer.Equal(given, made)) continue;
    std::vector<std::string> names;
    for (const RewriteStep& step : explainer.Explain(given, made)) {
      names.push_back(RuleName(rules, step.origin));
    }
    if (names.empty()) return absl::StrCat(text(made), ", of the input");
    return absl::StrCat(text(made), ", from ", text(given), " of the input by ",
                        absl::StrJoin(names, ", "));
  }
  return absl::StrCat(text(made), ", added by ",
                      RuleName(rules, graph.origin(ENodeId(id.value()))));
}

}  // namespace

std::string RefusalText(const EGraph& graph, std::span<const Rule* const> rules,
                        const UnionRecord& refused) {
  const Explainer explainer(graph, rules);
  return absl::StrCat(RuleName(rules, refused.origin), " would unite\n  ",
                      DerivationText(graph, explainer, rules, refused.a), "\n  ",
                      DerivationText(graph, explainer, rules, refused.b));
}

}  // namespace quotient::egraph
