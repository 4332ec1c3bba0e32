#pragma once

// GroupedList: for each key a list of values, all in two flat arrays. Filled in two passes over the
// same pairs, first Count, then Append; lists keep the order of Append.
//
//   GroupedList<ENodeId> list(num_keys);
//   for (..) list.Count(key);
//   list.Allocate();
//   for (..) list.Append(key, value);
//   list[key]

#include <cstdint>
#include <span>
#include <vector>

namespace quotient::egraph {

template <typename Value>
class GroupedList {
 public:
  GroupedList() = default;
  explicit GroupedList(size_t num_keys) : end_(num_keys + 1, 0) {}

  void Count(uint32_t key) { ++end_[key + 1]; }

  void Allocate() {
    for (size_t i = 1; i < end_.size(); ++i) end_[i] += end_[i - 1];
    values_.resize(end_.empty() ? 0 : end_.back());
    // From here to the last Append, end_[key] is where the next value of `key` goes: what ends
    // there once all are placed.
    if (!end_.empty()) end_.pop_back();
  }

  void Append(uint32_t key, Value value) { values_[end_[key]++] = value; }

  // Empty for keys beyond the last.
  std::span<const Value> operator[](uint32_t key) const {
    if (key >= end_.size()) return {};
    const uint32_t begin = key == 0 ? 0 : end_[key - 1];
    return std::span<const Value>(values_).subspan(begin, end_[key] - begin);
  }

 private:
  std::vector<uint32_t> end_;
  std::vector<Value> values_;
};

}  // namespace quotient::egraph
