#include "core/extract/partial_selections.h"

#include <algorithm>
#include <tuple>

namespace quotient::extract {
namespace {

// A candidate is compared with this many of the cheapest entries only. They cover the most, and
// comparing with all would take quadratic time.
constexpr size_t kCompared = 32;
// Number of candidates between two checks of `stop`.
constexpr uint64_t kStopInterval = 1 << 12;

}  // namespace

uint32_t Traces::Join(uint32_t a, uint32_t b) {
  if (a == kNothingChosen) return b;
  if (b == kNothingChosen) return a;
  return Add({a, b});
}

void Traces::WriteChoice(uint32_t trace, const Instance& instance,
                         std::vector<Node>& choice) const {
  std::vector<uint32_t> open = {trace};
  while (!open.empty()) {
    const uint32_t at = open.back();
    open.pop_back();
    if (at == kNothingChosen) continue;
    const Record& record = records_[at];
    open.push_back(record.first);
    if ((record.second & kIsNode) == 0) {
      open.push_back(record.second);
      continue;
    }
    const Node node(record.second & ~kIsNode);
    choice[instance.class_of[node.value()].value()] = node;
  }
}

void Traces::ForgetUnused(std::span<Table> tables) {
  if (records_.size() < forget_at_) return;
  constexpr uint32_t kUnused = 0, kUsed = 1;  // Used records get their new name later.
  std::vector<uint32_t> name(records_.size(), kUnused);
  const auto use = [&name](uint32_t trace) {
    if (trace != kNothingChosen) name[trace] = kUsed;
  };
  for (const Table& table : tables) {
    for (const Partial& partial : table) use(partial.trace);
  }
  for (size_t i = records_.size(); i-- > 0;) {
    if (name[i] == kUnused) continue;
    use(records_[i].first);
    if ((records_[i].second & kIsNode) == 0) use(records_[i].second);
  }
  const auto rename = [&name](uint32_t& trace) {
    if (trace != kNothingChosen) trace = name[trace];
  };
  uint32_t num_used = 0;
  for (size_t i = 0; i < records_.size(); ++i) {
    if (name[i] == kUnused) continue;
    Record record = records_[i];
    rename(record.first);
    if ((record.second & kIsNode) == 0) rename(record.second);
    name[i] = num_used;
    records_[num_used++] = record;
  }
  records_.resize(num_used);
  for (Table& table : tables) {
    for (Partial& partial : table) rename(partial.trace);
  }
  forget_at_ = std::max(forget_at_, 2 * records_.size());
}

bool TableBuilder::Consider(double cost) {
  ++num_considered_;
  if (num_considered_ > limits_.max_candidates) failed_ = true;
  if (num_considered_ % kStopInterval == 0 && stop_.ShouldStop()) failed_ = true;
  return !failed_ && cost < limits_.cutoff;
}

void TableBuilder::Insert(const Candidate& candidate) {
  const auto [known, fresh] =
      known_.try_emplace(candidate.interface, static_cast<uint32_t>(candidates_.size()));
  if (fresh) {
    candidates_.push_back(candidate);
    if (candidates_.size() > limits_.max_entries) failed_ = true;
  } else if (candidate.cost < candidates_[known->second].cost) {
    candidates_[known->second] = candidate;
  }
}

Table TableBuilder::Finish() {
  std::ranges::sort(candidates_, [](const Candidate& a, const Candidate& b) {
    return std::tie(a.cost, a.interface) < std::tie(b.cost, b.interface);
  });
  Table table;
  for (const Candidate& candidate : candidates_) {
    const std::span<const Partial> compared =
        std::span(table).first(std::min(table.size(), kCompared));
    const auto covers = [&](const Partial& other) {
      return other.interface.Covers(candidate.interface);
    };
    if (std::ranges::any_of(compared, covers)) continue;
    const uint32_t trace = candidate.node.valid() ? traces_.Extend(candidate.first, candidate.node)
                                                  : traces_.Join(candidate.first, candidate.second);
    table.push_back({candidate.interface, candidate.cost, trace});
  }
  candidates_.clear();
  known_.clear();
  return table;
}

}  // namespace quotient::extract
