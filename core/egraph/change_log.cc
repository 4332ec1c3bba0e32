#include "core/egraph/change_log.h"

#include <vector>

namespace quotient::egraph {

void ChangeLog::Sort() {
  const std::span<const ENodeId> present = changes_.span().subspan(counts_.changes);
  if (std::ranges::is_sorted(present)) return;
  std::vector<ENodeId> sorted(present.begin(), present.end());
  std::ranges::sort(sorted);
  for (size_t i = 0; i < sorted.size(); ++i) changes_.Write(counts_.changes + i, sorted[i]);
}

void ChangeLog::Acknowledge(bool keep) {
  // An epoch without changes need not be kept to be known.
  const uint32_t first_unknown = empty() ? counts_.epoch : counts_.epoch + 1;
  if (keep) {
    if (!empty()) epochs_.push_back(Present());
  } else if (!changes_.guarded()) {
    changes_.Clear();
    epochs_.Clear();
  }
  counts_ = {counts_.epoch + 1, rows_->size(), changes_.size(),
             keep ? counts_.complete_from : first_unknown};
}

std::vector<ChangeLog::Position> ChangeLog::AllSince(Position from) const {
  std::vector<Position> all;
  for (uint32_t i = 0; i < rows_->size(); ++i) {
    const Position position = this->position(ENodeId(i));
    if (position >= from) all.push_back(position);
  }
  std::ranges::sort(all);
  return all;
}

}  // namespace quotient::egraph
