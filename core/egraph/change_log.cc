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
  if (keep) {
    if (!empty()) epochs_.push_back(Present());
  } else if (!changes_.guarded()) {
    changes_.Clear();
    epochs_.Clear();
  }
  counts_ = {counts_.epoch + 1, rows_->size(), changes_.size()};
}

}  // namespace quotient::egraph
