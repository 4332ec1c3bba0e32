#include "core/search/match_memory.h"

namespace quotient::search {
MatchMemory::Key MatchMemory::KeyOf(size_t rule, const egraph::Match& match) {
  Fingerprint fingerprint;
  fingerprint.Add(rule);
  fingerprint.Add(match.classes.size());
  for (egraph::ClassId id : match.classes) fingerprint.Add(id.value());
  for (egraph::OpId op : match.ops) fingerprint.Add(op.value());
  return fingerprint.value();
}

void MatchMemory::Rollback() {
  for (; added_.size() > marks_.back(); added_.pop_back()) seen_.erase(added_.back());
  marks_.pop_back();
}

void MatchMemory::Forget() {
  marks_.pop_back();
  if (marks_.empty()) added_.clear();
}

}  // namespace quotient::search
