// Marks and rollbacks. The trail restores all arrays; what else belongs to the state is restored
// here.

#include "core/egraph/egraph.h"

namespace quotient::egraph {

void EGraph::Mark() {
  counts_at_mark_.push_back({num_enodes_, num_classes_, changes_.counts()});
  trail_.Mark();
  if (analysis_ != nullptr) analysis_->Mark();
}

void EGraph::Rollback() {
  trail_.Rollback();
  const Counts counts = counts_at_mark_.back();
  counts_at_mark_.pop_back();
  num_enodes_ = counts.num_enodes;
  num_classes_ = counts.num_classes;
  changes_.SetCounts(counts.changes);
  work_.Clear();
  dirty_ = false;
  refused_union_.reset();
  if (proofs_ != nullptr) proofs_->ForgetLastApplication();
  if (analysis_ != nullptr) analysis_->Rollback(*this);
}

void EGraph::Forget() {
  trail_.Forget();
  counts_at_mark_.pop_back();
  if (analysis_ != nullptr) analysis_->Forget();
}

}  // namespace quotient::egraph
