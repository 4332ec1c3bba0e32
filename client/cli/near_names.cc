#include "client/cli/near_names.h"

#include <algorithm>
#include <utility>

#include "absl/strings/match.h"

namespace quotient::cli {
namespace {

constexpr size_t kLongestName = 100;
// Shorter names are part of many others.
constexpr size_t kShortestPart = 3;

// The number of letters to add, leave out, replace or exchange with the next one that lead from one
// name to the other.
size_t Distance(absl::string_view a, absl::string_view b) {
  // rows[i][j] is that of the first i letters of a and the first j of b.
  std::vector<std::vector<size_t>> rows(a.size() + 1, std::vector<size_t>(b.size() + 1));
  for (size_t i = 0; i <= a.size(); ++i) {
    for (size_t j = 0; j <= b.size(); ++j) {
      if (i == 0 || j == 0) {
        rows[i][j] = i + j;
        continue;
      }
      const size_t replaced = rows[i - 1][j - 1] + (a[i - 1] == b[j - 1] ? 0 : 1);
      rows[i][j] = std::min({replaced, rows[i - 1][j] + 1, rows[i][j - 1] + 1});
      const bool are_exchanged =
          i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1] && a[i - 1] != a[i - 2];
      if (are_exchanged) rows[i][j] = std::min(rows[i][j], rows[i - 2][j - 2] + 1);
    }
  }
  return rows[a.size()][b.size()];
}

bool IsPart(absl::string_view part, absl::string_view whole) {
  return part.size() >= kShortestPart && absl::StrContains(whole, part);
}

}  // namespace

std::vector<std::string> NearNames(absl::string_view typed, std::span<const std::string> names,
                                   size_t most) {
  std::vector<std::string> near;
  if (typed.size() > kLongestName) return near;
  std::vector<std::pair<size_t, const std::string*>> found;  // With their distances.
  for (const std::string& name : names) {
    const size_t distance = Distance(typed, name);
    const size_t few = std::max<size_t>(1, std::min(typed.size(), name.size()) / 4);
    if (distance <= few || IsPart(typed, name) || IsPart(name, typed)) {
      found.emplace_back(distance, &name);
    }
  }
  std::ranges::stable_sort(found, {}, [](const auto& each) { return each.first; });
  for (size_t i = 0; i < std::min(most, found.size()); ++i) near.push_back(*found[i].second);
  return near;
}

}  // namespace quotient::cli
