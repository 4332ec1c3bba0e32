#include "core/verify/binding_sizes.h"

#include <map>
#include <set>
#include <span>

namespace quotient::verify {
namespace {

// Lengths and sides. Small and odd ones come first; models that halve images or cut sequences into
// blocks need multiples. The second column is for kSecond.
struct Extents {
  Progression length, side;
};
constexpr Extents kExtents[][2] = {
    {{{5, 2}, {35, 2}}, {{6, 3}, {34, 4}}},
    {{{8, 8}, {32, 32}}, {{24, 8}, {64, 32}}},
    {{{16, 16}, {64, 32}}, {{48, 16}, {96, 32}}},
    {{{32, 32}, {128, 32}}, {{96, 32}, {160, 32}}},
    {{{64, 64}, {224, 224}}, {{192, 64}, {448, 224}}},
};
// First dimensions. With a batch of four the elements that have one index along another axis (a
// column of scores beside columns of boxes) are a slice, which errors are compared with. Two is
// what comes after it where four would take too long. Lengths are odd where batches are even.
constexpr Progression kOfFirst[] = {{4, 2}, {2, 1}};
constexpr Progression kOfSecond[] = {{3, 1}};
constexpr Progression kOfOthers[] = {{2, 1}};
constexpr Progression kOfEmpty[] = {{0, 0}};

std::span<const Progression> BatchesOf(BindingKind kind) {
  switch (kind) {
    case BindingKind::kFirst:
      return kOfFirst;
    case BindingKind::kSecond:
      return kOfSecond;
    case BindingKind::kEmptyBatch:
      return kOfEmpty;
    default:
      return kOfOthers;
  }
}

enum class Role { kBatch, kLength, kSide };

// The roles by group.
std::vector<Role> RolesOf(const std::vector<FreeDim>& free, const Groups& groups) {
  std::vector<Role> roles(groups.size(), Role::kSide);
  for (size_t i = 0; i < free.size(); ++i) {
    if (groups[i] == kOne) continue;
    Role& role = roles[groups[i]];
    if (free[i].axis == 0 && free[i].rank > 1) {
      role = Role::kBatch;
    } else if (free[i].rank < 4 && role == Role::kSide) {
      role = Role::kLength;
    }
  }
  return roles;
}

const std::optional<Progression>& OfRole(const Sizes& sizes, Role role) {
  switch (role) {
    case Role::kBatch:
      return sizes.batch;
    case Role::kLength:
      return sizes.length;
    case Role::kSide:
      break;
  }
  return sizes.side;
}

// The first members of groups that are no batches.
std::vector<size_t> LengthsOf(const Groups& groups, const std::vector<Role>& roles) {
  std::vector<size_t> lengths;
  std::set<size_t> seen;
  for (size_t i = 0; i < groups.size(); ++i) {
    if (groups[i] == kOne || roles[groups[i]] == Role::kBatch) continue;
    if (seen.insert(groups[i]).second) lengths.push_back(i);
  }
  return lengths;
}

// Replaces sizes by sums of two others where those used for measuring are. A group is judged by its
// first member.
void AddUp(const std::vector<FreeDim>& free, const Groups& groups,
           const std::vector<size_t>& lengths, std::map<size_t, int64_t>& numbers) {
  constexpr size_t kMostForSums = 8;
  if (lengths.size() > kMostForSums) return;
  const std::map<size_t, int64_t> before = numbers;
  for (const size_t sum : lengths) {
    for (const size_t a : lengths) {
      for (const size_t b : lengths) {
        if (free[sum].measured != free[a].measured + free[b].measured) continue;
        numbers[groups[sum]] = before.at(groups[a]) + before.at(groups[b]);
      }
    }
  }
}

}  // namespace

Shapes WithSizes(const Shapes& measured, const std::vector<FreeDim>& free, const Groups& groups,
                 const Sizes& sizes) {
  const std::vector<Role> roles = RolesOf(free, groups);
  std::map<size_t, int64_t> numbers = {{kOne, 1}};  // Size by group.
  int64_t used[3] = {0, 0, 0};                      // Number of groups so far, by role.
  for (size_t i = 0; i < free.size(); ++i) {
    const auto [number, is_new] = numbers.emplace(groups[i], free[i].measured);
    if (!is_new) continue;
    const Role role = roles[groups[i]];
    const std::optional<Progression>& progression = OfRole(sizes, role);
    int64_t& k = used[static_cast<int>(role)];
    if (progression.has_value()) number->second = progression->first + progression->step * k++;
  }
  if (sizes.adds_up) AddUp(free, groups, LengthsOf(groups, roles), numbers);
  Shapes shapes = measured;
  for (size_t i = 0; i < free.size(); ++i) {
    shapes[free[i].input][free[i].axis] = numbers.at(groups[i]);
  }
  return shapes;
}

std::vector<std::vector<Sizes>> UsualSizes(BindingKind kind, bool adds_up) {
  std::vector<std::vector<Sizes>> usual;
  for (const auto& extents : kExtents) {
    const auto& [length, side] = extents[kind == BindingKind::kSecond ? 1 : 0];
    std::vector<Sizes>& row = usual.emplace_back();
    for (const Progression& batch : BatchesOf(kind)) row.push_back({batch, length, side, adds_up});
  }
  return usual;
}

Sizes LargeSizes(BindingKind kind, int64_t first) {
  const Progression large = {first, 1};
  if (kind == BindingKind::kLong) return {BatchesOf(kind)[0], large, {}};
  return {large, kExtents[0][0].length, {}};
}

std::vector<Sizes> MeasuredSizes(BindingKind kind) {
  std::vector<Sizes> measured;
  for (const Progression& batch : BatchesOf(kind)) measured.push_back({batch, {}, {}});
  return measured;
}

}  // namespace quotient::verify
