#include "core/verify/dim_groups.h"

#include <cstdint>
#include <numeric>
#include <optional>
#include <string>
#include <tuple>

#include "absl/container/flat_hash_map.h"

namespace quotient::verify {
namespace {

// A symbol, or for dimensions without one the measured size and whether they are first dimensions.
using GroupKey = std::tuple<std::string, int64_t, bool>;

// Groups dimensions by key. A dimension without a key is a group of its own.
template <typename KeyOf>
Groups GroupBy(const std::vector<FreeDim>& free, KeyOf key_of) {
  Groups groups(free.size());
  absl::flat_hash_map<GroupKey, size_t> first;
  for (size_t i = 0; i < free.size(); ++i) {
    const std::optional<GroupKey> key = key_of(free[i]);
    groups[i] = key.has_value() ? first.emplace(*key, i).first->second : i;
  }
  return groups;
}

std::optional<GroupKey> ByName(const FreeDim& dim) {
  if (dim.symbol.empty()) return std::nullopt;
  return GroupKey(dim.symbol, 0, false);
}

std::optional<GroupKey> ByNumber(const FreeDim& dim) {
  return GroupKey("", dim.measured, dim.axis == 0);
}

}  // namespace

Groups EachItsOwn(const std::vector<FreeDim>& free) {
  Groups groups(free.size());
  std::iota(groups.begin(), groups.end(), 0);
  return groups;
}

Groups GroupByName(const std::vector<FreeDim>& free) { return GroupBy(free, ByName); }

Groups GroupByNameOrNumber(const std::vector<FreeDim>& free) {
  return GroupBy(
      free, [](const FreeDim& dim) { return dim.symbol.empty() ? ByNumber(dim) : ByName(dim); });
}

Groups GroupByNumber(const std::vector<FreeDim>& free) { return GroupBy(free, ByNumber); }

}  // namespace quotient::verify
