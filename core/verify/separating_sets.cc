#include "core/verify/separating_sets.h"

#include <algorithm>
#include <bit>
#include <cstdint>
#include <map>
#include <utility>

namespace quotient::verify {
namespace {

// The most dimensions that are tried, in all groups together.
constexpr size_t kMostMembers = 64;
// The most calls of `accepts` once the units are known.
constexpr int kMostTrials = 128;

// The subsets of `k` elements that have k / 2 of them, as bits, the largest number first.
std::vector<uint32_t> HalfSubsets(int k) {
  std::vector<uint32_t> subsets;
  for (uint32_t bits = uint32_t{1} << k; bits-- > 0;) {
    if (std::popcount(bits) == k / 2) subsets.push_back(bits);
  }
  return subsets;
}

class Separator {
 public:
  explicit Separator(const std::function<bool(const OnesSet&)>& accepts) : accepts_(accepts) {}

  SeparatingSets Run(const std::vector<size_t>& groups) {
    std::map<size_t, OnesSet> members;
    for (size_t i = 0; i < groups.size(); ++i) members[groups[i]].push_back(i);
    size_t most_units = 0;
    std::vector<std::vector<OnesSet>> units;  // By group.
    for (const auto& [group, dims] : members) {
      if (dims.size() < 2) continue;
      units.push_back(UnitsOf(dims));
      most_units = std::max(most_units, units.back().size());
    }
    int k = 2;
    while (HalfSubsets(k).size() < most_units) ++k;
    const std::vector<uint32_t> subsets = HalfSubsets(k);
    for (int bit = 0; bit < k; ++bit) {
      std::vector<OnesSet> chosen;
      for (const std::vector<OnesSet>& of_group : units) {
        for (size_t u = 0; u < of_group.size(); ++u) {
          if (subsets[u] >> bit & 1) chosen.push_back(of_group[u]);
        }
      }
      Cover(std::move(chosen));
    }
    return std::move(result_);
  }

 private:
  std::vector<OnesSet> UnitsOf(const OnesSet& dims) {
    std::vector<OnesSet> units;
    OnesSet run;  // Neighbors among the dimensions that may not be 1 alone.
    for (const size_t dim : dims) {
      if (members_++ == kMostMembers) {
        members_ = kMostMembers;
        result_.tried_all = false;
        break;
      }
      if (accepts_({dim})) {
        units.push_back({dim});
        continue;
      }
      run.push_back(dim);
      // If all dimensions of a name are 1, they are equal.
      if (run.size() < 2 || run.size() == dims.size() || !accepts_(run)) continue;
      units.push_back(std::exchange(run, {}));
    }
    return units;
  }

  // Adds sets that have each of the units. Each unit alone is accepted.
  void Cover(std::vector<OnesSet> units) {
    while (!units.empty()) {
      OnesSet all;
      for (const OnesSet& unit : units) all = Union(all, unit);
      if (units.size() == 1 || Accepts(all)) return Add(std::move(all));
      OnesSet ones = units[0];
      std::vector<OnesSet> left;
      for (size_t u = 1; u < units.size(); ++u) {
        OnesSet more = Union(ones, units[u]);
        if (Accepts(more)) {
          ones = std::move(more);
        } else {
          left.push_back(std::move(units[u]));
        }
      }
      Add(std::move(ones));
      if (trials_ == kMostTrials) {
        result_.tried_all &= left.empty();
        return;
      }
      units = std::move(left);
    }
  }

  bool Accepts(const OnesSet& ones) {
    if (trials_ == kMostTrials) return false;
    ++trials_;
    return accepts_(ones);
  }

  void Add(OnesSet ones) {
    if (std::ranges::find(result_.sets, ones) == result_.sets.end()) {
      result_.sets.push_back(std::move(ones));
    }
  }

  static OnesSet Union(const OnesSet& a, const OnesSet& b) {
    OnesSet both = a;
    both.insert(both.end(), b.begin(), b.end());
    std::ranges::sort(both);
    return both;
  }

  const std::function<bool(const OnesSet&)>& accepts_;
  size_t members_ = 0;  // Number of dimensions tried.
  int trials_ = 0;      // Number of calls by Cover.
  SeparatingSets result_;
};

}  // namespace

SeparatingSets FindSeparatingSets(const std::vector<size_t>& groups,
                                  const std::function<bool(const OnesSet&)>& accepts) {
  return Separator(accepts).Run(groups);
}

}  // namespace quotient::verify
