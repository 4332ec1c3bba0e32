#include "core/verify/binding_proposals.h"

#include <algorithm>
#include <map>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <tuple>
#include <utility>

#include "absl/container/flat_hash_map.h"

namespace quotient::verify {
namespace {

using model::Graph;
using model::TensorType;
using model::ValueId;

// Sizes for the dimensions of one binding: first dimensions, lengths, and sides of images (in
// tensors with four or more dimensions). The k-th group of dimensions of a role gets base + k *
// step. Small and odd sizes come first; models that halve images or cut sequences into blocks need
// multiples.
struct Sizes {
  int64_t length, length_step;
  int64_t side, side_step;
};
constexpr Sizes kSizes[][2] = {
    {{5, 2, 35, 2}, {6, 3, 34, 4}},
    {{8, 8, 32, 32}, {24, 8, 64, 32}},
    {{16, 16, 64, 32}, {48, 16, 96, 32}},
    {{32, 32, 128, 32}, {96, 32, 160, 32}},
    {{64, 64, 224, 224}, {192, 64, 448, 224}},
};
// First dimensions of one binding: the k-th group of them is at first + k * step.
struct Batches {
  int64_t first, step;
};
// With a batch of four the elements that have one index along another axis (a column of scores
// beside columns of boxes) are a slice, which errors are compared with. Two is what comes after it
// where four would take too long. Lengths are odd where batches are even.
constexpr Batches kOfFirst[] = {{4, 2}, {2, 1}};
constexpr Batches kOfSecond[] = {{3, 1}};
constexpr Batches kOfOthers[] = {{2, 1}};
constexpr Batches kOfEmpty[] = {{0, 0}};

std::span<const Batches> BatchesOf(BindingKind kind) {
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

// The most proposals of one call for each size of batches.
constexpr size_t kMostProposals = 3;
// The most dimensions that are split off from others with their name, one by one.
constexpr size_t kMostSplits = 8;

// Groups of dimensions that get the same size. Parallel to the free dimensions; each group is named
// by the index of one of its members.
using Groups = std::vector<size_t>;
// The group of dimensions that are 1.
constexpr size_t kOne = static_cast<size_t>(-1);

Groups EachItsOwn(const std::vector<FreeDim>& free) {
  Groups groups(free.size());
  for (size_t i = 0; i < free.size(); ++i) groups[i] = i;
  return groups;
}

// A symbol, or for dimensions without one the measured size and whether they are first dimensions.
using GroupKey = std::tuple<std::string, int64_t, bool>;

// Groups dimensions by key. A group is named by its first member. A dimension without a key is a
// group of its own.
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

// As ByName, but dimensions without a name have a key, too: their size in measuring.
std::optional<GroupKey> ByNameOrNumber(const FreeDim& dim) {
  if (!dim.symbol.empty()) return ByName(dim);
  return GroupKey("", dim.measured, dim.axis == 0);
}

// Some exporters give each axis of each input its own name, and only the operators determine which
// of these must be equal. Dimensions with the same size in measuring may have to be.
std::optional<GroupKey> ByNumber(const FreeDim& dim) {
  return GroupKey("", dim.measured, dim.axis == 0);
}

class Proposer {
 public:
  Proposer(const Graph& graph, const Shapes& measured, BindingKind kind, const StopCondition& stop)
      : graph_(graph),
        measured_(measured),
        kind_(kind),
        stop_(stop),
        free_(FreeDims(graph, measured)) {
    const absl::StatusOr<Graph> bound = InferAt(graph, measured);
    if (bound.ok()) most_cut_ = CountCut(*bound);
  }

  std::vector<Shapes> Run() {
    if (free_.empty()) return {};
    for (const auto& sizes : kSizes) {
      if (proposals_.size() >= kMostProposals * BatchesOf(kind_).size()) {
        return std::move(proposals_);
      }
      ProposeAtBatches(&sizes[kind_ == BindingKind::kSecond ? 1 : 0]);
    }
    ProposeAtBatches(nullptr);
    return std::move(proposals_);
  }

 private:
  enum class Role { kBatch, kLength, kSide };

  // If `sizes` is null, only first dimensions differ from the sizes used for measuring.
  void ProposeAtBatches(const Sizes* sizes) {
    for (const Batches& batches : BatchesOf(kind_)) {
      batches_ = batches;
      ProposeAt(sizes);
    }
  }

  void ProposeAt(const Sizes* sizes) {
    if (kind_ != BindingKind::kEmptyBatch) {
      const Groups own = EachItsOwn(free_);
      // If all may differ, there is no equality that a caller could break.
      if (BreaksNames(kind_) ? Infers(own, sizes) : Propose(own, sizes)) return;
    }
    const Groups by_name = GroupBy(free_, ByName);
    if (Infers(by_name, sizes)) return ProposeLoosened(by_name, sizes);
    // Dimensions without a name are not expected to be equal.
    if (BreaksNames(kind_)) return;
    if (Propose(GroupBy(free_, ByNameOrNumber), sizes)) return;
    const Groups by_number = GroupBy(free_, ByNumber);
    if (Infers(by_number, sizes)) ProposeLoosened(by_number, sizes);
  }

  // Makes proposals from groups whose sizes the operators accept.
  void ProposeLoosened(Groups groups, const Sizes* sizes) {
    if (kind_ != BindingKind::kEmptyBatch) groups = Split(std::move(groups), sizes);
    if (!BreaksNames(kind_)) {
      Propose(groups, sizes);
      return;
    }
    const Groups broken = kind_ == BindingKind::kSwapped ? SwapWherePossible(groups, sizes)
                                                         : SetToOneWherePossible(groups, sizes);
    if (broken != groups) Propose(broken, sizes);
  }

  bool Propose(const Groups& groups, const Sizes* sizes) {
    if (!Infers(groups, sizes)) return false;
    Shapes shapes = ShapesOf(groups, sizes);
    // Without a batch there is none that could be empty.
    if (kind_ == BindingKind::kEmptyBatch && !HasEmpty(shapes)) return true;
    if (shapes != measured_ && std::ranges::find(proposals_, shapes) == proposals_.end()) {
      proposals_.push_back(std::move(shapes));
    }
    return true;
  }

  static bool HasEmpty(const Shapes& shapes) {
    return std::ranges::any_of(shapes, [](const auto& input) {
      return std::ranges::find(input.second, 0) != input.second.end();
    });
  }

  // Splits dimensions off from their group where the operators allow it. Tries the result for other
  // sizes first.
  Groups Split(Groups groups, const Sizes* sizes) {
    if (split_.size() == groups.size() && Infers(split_, sizes)) return split_;
    split_ =
        Regroup(std::move(groups), sizes,
                // A group is named by its first member, so the others are split off.
                [](size_t i, bool is_first) { return is_first ? std::nullopt : std::optional(i); });
    return split_;
  }

  Groups SetToOneWherePossible(const Groups& groups, const Sizes* sizes) const {
    const bool first_is_one = kind_ == BindingKind::kFirstIsOne;
    return Regroup(groups, sizes, [&](size_t, bool is_first) {
      return is_first == first_is_one ? std::optional(kOne) : std::nullopt;
    });
  }

  // Moves dimensions that share their group into the group that group_of(index, is_first) names,
  // where the operators allow it. With nullopt the dimension stays.
  template <typename GroupOf>
  Groups Regroup(Groups groups, const Sizes* sizes, GroupOf group_of) const {
    size_t tries = 0;
    std::vector<size_t> members(groups.size());  // Number of members by group.
    for (const size_t group : groups) {
      if (group != kOne) ++members[group];
    }
    for (size_t i = 0; i < groups.size() && tries < kMostSplits; ++i) {
      const size_t old = groups[i];
      if (old == kOne || members[old] < 2) continue;
      const std::optional<size_t> group = group_of(i, old == i);
      if (!group.has_value()) continue;
      ++tries;
      groups[i] = *group;
      if (Infers(groups, sizes)) {
        --members[old];
        if (*group != kOne) ++members[*group];
      } else {
        groups[i] = old;
      }
    }
    return groups;
  }

  // Exchanges the groups of two dimensions of an input, where the operators allow it. Of inputs
  // with the same groups, the first is left as it is.
  Groups SwapWherePossible(Groups groups, const Sizes* sizes) const {
    size_t tries = 0;
    std::set<std::pair<size_t, size_t>> seen;
    for (size_t i = 0; i < groups.size(); ++i) {
      for (size_t j = i + 1; j < groups.size() && free_[j].input == free_[i].input; ++j) {
        if (groups[i] == groups[j] || seen.insert(std::minmax(groups[i], groups[j])).second)
          continue;
        if (++tries > kMostSplits) return groups;
        std::swap(groups[i], groups[j]);
        if (!Infers(groups, sizes)) std::swap(groups[i], groups[j]);
      }
    }
    return groups;
  }

  // Whether the operators accept these sizes, with no more nodes cut out and no output empty. False
  // once `stop_` fires.
  bool Infers(const Groups& groups, const Sizes* sizes) const {
    if (stop_.ShouldStop()) return false;
    const absl::StatusOr<Graph> bound = InferAt(graph_, ShapesOf(groups, sizes));
    return bound.ok() && CountCut(*bound) <= most_cut_ &&
           (kind_ == BindingKind::kEmptyBatch || !HasEmptyOutput(*bound));
  }

  static bool HasEmptyOutput(const Graph& graph) {
    return std::ranges::any_of(graph.outputs, [&graph](ValueId id) {
      const TensorType& type = graph.value(id).type;
      return type.is_static() && type.elements() == 0;
    });
  }

  // The number of nodes that Cut takes out. An operator without a row never refuses dims, but if it
  // does not accept them, ONNX's inference has no types for its outputs.
  static int64_t CountCut(const Graph& graph) {
    return std::ranges::count_if(
        graph.nodes, [&](const model::Node& node) { return !model::IsComputable(graph, node); });
  }

  // The roles by group. A group with a first dimension is a batch, unless its tensor has only one
  // dimension.
  std::vector<Role> RolesOf(const Groups& groups) const {
    std::vector<Role> roles(groups.size(), Role::kSide);
    for (size_t i = 0; i < free_.size(); ++i) {
      if (groups[i] == kOne) continue;
      Role& role = roles[groups[i]];
      if (free_[i].axis == 0 && free_[i].rank > 1) {
        role = Role::kBatch;
      } else if (free_[i].rank < 4 && role == Role::kSide) {
        role = Role::kLength;
      }
    }
    return roles;
  }

  Shapes ShapesOf(const Groups& groups, const Sizes* sizes) const {
    Shapes shapes = measured_;
    const std::vector<Role> roles = RolesOf(groups);
    std::map<size_t, int64_t> numbers = {{kOne, 1}};  // Size by group.
    int64_t used[3] = {0, 0, 0};                      // Number of groups so far, by role.
    for (size_t i = 0; i < free_.size(); ++i) {
      const auto [number, is_new] = numbers.emplace(groups[i], free_[i].measured);
      if (is_new) {
        const Role role = roles[groups[i]];
        if (role == Role::kBatch) {
          number->second = batches_.first + batches_.step * used[0]++;
        } else if (sizes != nullptr && role == Role::kLength) {
          number->second = sizes->length + sizes->length_step * used[1]++;
        } else if (sizes != nullptr) {
          number->second = sizes->side + sizes->side_step * used[2]++;
        }
      }
      shapes[free_[i].input][free_[i].axis] = number->second;
    }
    return shapes;
  }

  const Graph& graph_;
  const Shapes& measured_;
  const BindingKind kind_;
  const StopCondition& stop_;
  const std::vector<FreeDim> free_;
  Batches batches_ = kOfOthers[0];  // First dimensions of the proposal that is being made.
  int64_t most_cut_ = 0;            // Number of nodes cut out at the dims used for measuring.
  Groups split_;                    // The last result of Split.
  std::vector<Shapes> proposals_;
};

}  // namespace

bool BreaksNames(BindingKind kind) {
  return kind == BindingKind::kOthersAreOne || kind == BindingKind::kFirstIsOne ||
         kind == BindingKind::kSwapped;
}

absl::string_view ToString(BindingKind kind) {
  switch (kind) {
    case BindingKind::kFirst:
    case BindingKind::kSecond:
      break;
    case BindingKind::kOthersAreOne:
    case BindingKind::kFirstIsOne:
      return "some sizes of one name are 1";
    case BindingKind::kSwapped:
      return "sizes of two names have changed places";
    case BindingKind::kEmptyBatch:
      return "the batch is empty, only types are compared";
  }
  return "";
}

std::vector<Shapes> ProposeBindings(const Graph& graph, const Shapes& measured, BindingKind kind,
                                    const StopCondition& stop) {
  return Proposer(graph, measured, kind, stop).Run();
}

}  // namespace quotient::verify
