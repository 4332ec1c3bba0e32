#pragma once

// GroupedList keeps a list of values for each key, all in two flat arrays. It is filled in two
// passes over the same pairs, first Count, then Append, and lists keep the order of Append. If the
// pairs come in the order of their keys, one pass of Push and EndKey is enough.
//
//   GroupedList<ENodeId> list(num_keys);      GroupedList<ENodeId> list;
//   for (..) list.Count(key);                 for (key..) {
//   list.Allocate();                            for (..) list.Push(value);
//   for (..) list.Append(key, value);           list.EndKey();
//   list[key]                                 }

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
    // Until the last Append, end_[key] is where the next value of `key` goes; then it is the end.
    if (!end_.empty()) end_.pop_back();
  }

  void Append(uint32_t key, Value value) { values_[end_[key]++] = value; }

  void Reserve(size_t num_keys, size_t num_values) {
    end_.reserve(num_keys);
    values_.reserve(num_values);
  }
  void Push(Value value) { values_.push_back(value); }
  void EndKey() { end_.push_back(static_cast<uint32_t>(values_.size())); }

  // These need the list to be filled.
  size_t num_keys() const { return end_.size(); }
  // Empty for keys that are too large.
  std::span<const Value> operator[](uint32_t key) const {
    if (key >= end_.size()) return {};
    const uint32_t begin = key == 0 ? 0 : end_[key - 1];
    return std::span<const Value>(values_).subspan(begin, end_[key] - begin);
  }
  // All lists, one after the other.
  std::span<const Value> values() const { return values_; }

 private:
  std::vector<uint32_t> end_;
  std::vector<Value> values_;
};

}  // namespace quotient::egraph
