// Operations on the state as a whole: marks, rollbacks, saving and loading.

#include <algorithm>
#include <span>
#include <vector>

#include "core/egraph/egraph.h"

namespace quotient::egraph {

void EGraph::Mark() {
  counts_at_mark_.push_back({num_enodes_, num_classes_, op_bound_, changes_.counts()});
  trail_.Mark();
  if (analysis_ != nullptr) analysis_->Mark();
}

void EGraph::Rollback() {
  trail_.Rollback();
  const Counts counts = counts_at_mark_.back();
  counts_at_mark_.pop_back();
  num_enodes_ = counts.num_enodes;
  num_classes_ = counts.num_classes;
  op_bound_ = counts.op_bound;
  changes_.SetCounts(counts.changes);
  ForgetWork();
  if (analysis_ != nullptr) analysis_->Rollback(*this);
}

void EGraph::ForgetWork() {
  to_repair_.clear();
  repair_queue_.clear();
  to_modify_.clear();
  to_prune_.clear();
  to_thin_out_.clear();
  refused_union_.reset();
  last_application_ = static_cast<uint32_t>(applications_.size());
  dirty_ = false;
}

void EGraph::Forget() {
  trail_.Forget();
  counts_at_mark_.pop_back();
  if (analysis_ != nullptr) analysis_->Forget();
}

template <typename Self, typename Visit>
void EGraph::VisitArrays(Self& self, const Visit& visit) {
  visit(self.rows_);
  visit(self.origin_);
  visit(self.list_children_);
  visit(self.list_uses_);
  HashCons::VisitArrays(self.hash_cons_, visit);
  visit(self.union_find_.parents());
  visit(self.classes_);
  visit(self.unions_);
  ChangeLog::VisitArrays(self.changes_, visit);
  visit(self.born_children_);
  visit(self.applications_);
  visit(self.levels_);
  if (self.state_hash_ != nullptr) StateHash::VisitArrays(*self.state_hash_, visit);
}

// The image has seven counts, then for each array its length in words and the words.
void EGraph::Save(std::vector<uint32_t>& image) const {
  size_t words = 7;
  VisitArrays(*this, [&words](const auto& array) { words += 1 + array.words().size(); });
  image.resize(words);
  uint32_t* to = image.data();
  *to++ = static_cast<uint32_t>(num_enodes_);
  *to++ = static_cast<uint32_t>(num_classes_);
  *to++ = changes_.counts().epoch;
  *to++ = changes_.counts().nodes;
  *to++ = changes_.counts().changes;
  *to++ = changes_.counts().complete_from;
  *to++ = op_bound_;
  VisitArrays(*this, [&to](const auto& array) {
    const std::span<const uint32_t> words = array.words();
    *to++ = static_cast<uint32_t>(words.size());
    to = std::copy_n(words.data(), words.size(),
                     to);  // Pointers let this compile to one block copy.
  });
}

void EGraph::Load(std::span<const uint32_t> image) {
  num_enodes_ = image[0];
  num_classes_ = image[1];
  changes_.SetCounts({image[2], image[3], image[4], image[5]});
  op_bound_ = image[6];
  image = image.subspan(7);
  VisitArrays(*this, [&image](auto& array) {
    const size_t words = image[0];
    array.Assign(image.subspan(1, words));
    image = image.subspan(1 + words);
  });
  for (uint32_t op = 0; op < op_bound_; ++op) KindOf(OpId(op));
  ForgetWork();
}

}  // namespace quotient::egraph
