#include "core/search/match_memory.h"

namespace quotient::search {
MatchMemory::Key MatchMemory::KeyOf(size_t rule, const egraph::Match& match) {
  SequenceHash hash;
  hash.Add(rule);
  hash.Add(match.alternative);
  hash.Add(match.classes.size());
  for (egraph::ClassId id : match.classes) hash.Add(id.value());
  for (egraph::OpId op : match.ops) hash.Add(op.value());
  return hash.value();
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
