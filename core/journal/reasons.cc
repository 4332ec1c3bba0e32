#include "core/journal/reasons.h"

#include <algorithm>
#include <utility>

namespace quotient::journal {

using egraph::ENodeId;
using egraph::OpId;
using egraph::ProofForest;
using egraph::TermId;

void Reasons::AddENode(OpId op, std::span<const ENodeId> children, uint32_t rewrite) {
  table_.Add(op, children);
  std::vector<TermId> terms;
  for (const ENodeId child : children) terms.push_back(term_of_[child.value()]);
  term_of_.push_back(terms_.Add(op, terms));
  if (terms_.size() > made_by_.size()) made_by_.push_back(rewrite);
  forest_.TakeInTerms();
}

void Reasons::AddUnion(ENodeId a, ENodeId b, uint32_t rewrite) {
  forest_.Unite(term_of_[a.value()], term_of_[b.value()], rewrite);
}

void Reasons::AddRewrite(std::vector<Equality> rests_on) {
  rewrites_.push_back({std::move(rests_on)});
}

void Reasons::SetEarlier(uint32_t rewrite, std::vector<uint32_t> earlier) {
  rewrites_[rewrite].earlier = std::move(earlier);
}

// Follows reasons back. What is left to follow stands on stacks, because chains of reasons may be
// longer than the call stack allows.
class Reasons::Collector {
 public:
  // `follows`: whether what rewrites rest on is collected, too.
  Collector(const Reasons& reasons, bool follows, StepBudget* budget)
      : reasons_(reasons),
        follows_(follows),
        budget_(*budget),
        has_term_(reasons.terms_.size()),
        has_rewrite_(reasons.rewrites_.size()) {}

  std::vector<uint32_t> Run(std::span<const Equality> equalities) {
    Take(equalities);
    while ((!equal_.empty() || !terms_.empty() || !rewrites_.empty()) && !budget_.IsOver()) {
      if (!rewrites_.empty()) {
        FollowRewrite(Pop(rewrites_));
      } else if (!terms_.empty()) {
        FollowTerm(Pop(terms_));
      } else {
        FollowEquality(Pop(equal_));
      }
    }
    budget_.Take(static_cast<int64_t>(has_rewrite_.size() / 16));
    std::vector<uint32_t> rewrites;
    for (uint32_t i = 0; i < has_rewrite_.size(); ++i) {
      if (has_rewrite_[i]) rewrites.push_back(i);
    }
    return rewrites;
  }

 private:
  using Terms = std::pair<TermId, TermId>;

  template <typename T>
  static T Pop(std::vector<T>& stack) {
    const T last = stack.back();
    stack.pop_back();
    return last;
  }

  void Take(std::span<const Equality> equalities) {
    budget_.Take(static_cast<int64_t>(equalities.size()));
    for (const auto& [a, b] : equalities) {
      equal_.emplace_back(reasons_.term_of_[a.value()], reasons_.term_of_[b.value()]);
    }
  }
  void NeedRewrite(uint32_t rewrite) {
    if (rewrite == kNone || has_rewrite_[rewrite]) return;
    has_rewrite_[rewrite] = true;
    if (follows_) rewrites_.push_back(rewrite);
  }
  void NeedTerm(TermId term) {
    if (has_term_[term.value()]) return;
    has_term_[term.value()] = true;
    terms_.push_back(term);
  }

  void FollowRewrite(uint32_t number) {
    const Rewrite& rewrite = reasons_.rewrites_[number];
    Take(rewrite.rests_on);
    budget_.Take(static_cast<int64_t>(rewrite.earlier.size()));
    for (const uint32_t earlier : rewrite.earlier) NeedRewrite(earlier);
  }

  void FollowTerm(TermId term) {
    NeedRewrite(reasons_.made_by_[term.value()]);
    budget_.Take(1 + static_cast<int64_t>(reasons_.terms_.children(term).size()));
    for (const TermId child : reasons_.terms_.children(term)) NeedTerm(child);
  }

  void FollowEquality(Terms terms) {
    NeedTerm(terms.first);
    NeedTerm(terms.second);
    if (terms.first == terms.second || !followed_.insert(terms).second) return;
    for (const ProofForest::Step& step : reasons_.forest_.Path(terms.first, terms.second)) {
      budget_.Take(1);
      NeedTerm(step.from);
      NeedTerm(step.to);
      if (step.origin != egraph::kCongruence) {
        NeedRewrite(step.origin);
        continue;
      }
      const auto from = reasons_.terms_.children(step.from);
      const auto to = reasons_.terms_.children(step.to);
      budget_.Take(static_cast<int64_t>(from.size()));
      for (size_t i = 0; i < from.size(); ++i) equal_.emplace_back(from[i], to[i]);
    }
  }

  const Reasons& reasons_;
  const bool follows_;
  StepBudget& budget_;
  std::vector<bool> has_term_;     // By TermId.
  std::vector<bool> has_rewrite_;  // By number.
  absl::flat_hash_set<Terms> followed_;
  std::vector<Terms> equal_;
  std::vector<TermId> terms_;
  std::vector<uint32_t> rewrites_;
};

std::vector<uint32_t> Reasons::RewritesFor(std::span<const Equality> equalities,
                                           StepBudget* budget) const {
  return Collector(*this, /*follows=*/true, budget).Run(equalities);
}

std::vector<uint32_t> Reasons::RewritesBefore(uint32_t number, StepBudget* budget) const {
  return Collector(*this, /*follows=*/false, budget).Run(rewrites_[number].rests_on);
}

}  // namespace quotient::journal
