#include "core/verify/binding_proposals.h"

#include <algorithm>
#include <functional>
#include <set>
#include <utility>

#include "core/model/occurring_sizes.h"
#include "core/verify/binding_sizes.h"
#include "core/verify/dim_groups.h"
#include "core/verify/separating_sets.h"

namespace quotient::verify {
namespace {

using model::Graph;
using model::TensorType;
using model::ValueId;

// The most numbers of the model that are tried as sizes.
constexpr size_t kMostOccurring = 12;
// The most proposals of one call for each size of batches.
constexpr size_t kMostProposals = 3;
// The most proposals of sizes that reach a number of the model.
constexpr size_t kMostLarge = 6;
constexpr size_t kMostTries = 16;
// The most dimensions that are split off from others with their name, one by one.
constexpr size_t kMostSplits = 8;

class Proposer {
 public:
  Proposer(const Graph& graph, const Shapes& measured, BindingKind kind, const StopCondition& stop)
      : graph_(graph),
        measured_(measured),
        kind_(kind),
        // Almost any dims fit together if there are no elements.
        equates_names_(kind == BindingKind::kEmptyBatch),
        stop_(stop),
        free_(FreeDims(graph, measured)) {
    const absl::StatusOr<Graph> bound = InferAt(graph, measured);
    if (bound.ok()) most_cut_ = CountCut(*bound);
  }

  std::vector<Shapes> Run() {
    if (free_.empty()) return {};
    bool accepted = false;
    for (const bool adds_up : {false, true}) {
      if (adds_up && (accepted || !HasSums())) break;
      for (const std::vector<Sizes>& usual : UsualSizes(kind_, adds_up)) {
        if (proposals_.size() >= kMostProposals * usual.size()) return std::move(proposals_);
        for (const Sizes& sizes : usual) accepted |= ProposeAt(sizes);
      }
    }
    const bool tries_numbers =
        !accepted && (kind_ == BindingKind::kFirst || kind_ == BindingKind::kSecond);
    // The first binding keeps the lengths that the model is meant for.
    if (tries_numbers && kind_ == BindingKind::kSecond) ProposeOccurring();
    for (const Sizes& sizes : MeasuredSizes(kind_)) ProposeAt(sizes);
    if (tries_numbers && kind_ == BindingKind::kFirst) ProposeOccurring();
    return std::move(proposals_);
  }

  std::vector<Shapes> RunLarge(std::vector<int64_t> numbers, double most_growth) {
    std::ranges::sort(numbers, std::greater());
    const Groups own = EachItsOwn(free_);
    size_t tries = 0;
    for (const int64_t number : numbers) {
      for (const int64_t first : {number + 1, number}) {
        const Sizes sizes = LargeSizes(kind_, first);
        const Shapes shapes = ShapesOf(own, sizes);
        if (!HasAtLeast(shapes, first) || Elements(shapes) > most_growth * Elements(measured_)) {
          continue;
        }
        ProposeAt(sizes);
        if (proposals_.size() >= kMostLarge || ++tries == kMostTries) {
          return std::move(proposals_);
        }
      }
    }
    return std::move(proposals_);
  }

  BrokenNames RunBroken() {
    const Groups by_name = GroupByName(free_);
    if (by_name == EachItsOwn(free_)) return {};
    const std::vector<Sizes> accepted = SizesToBreak(by_name);
    if (accepted.empty()) return {};
    const SeparatingSets separating = FindSeparatingSets(
        by_name, [&](const OnesSet& ones) { return Infers(by_name, ones, accepted[0]); });
    BrokenNames broken{.bindings = {}, .tried_all = separating.tried_all};
    for (const OnesSet& ones : separating.sets) {
      std::vector<Shapes>& alternatives = broken.bindings.emplace_back();
      for (const Sizes& sizes : accepted) {
        if (&sizes != &accepted[0] && !Infers(by_name, ones, sizes)) continue;
        alternatives.push_back(ShapesOf(WithOnes(by_name, ones), sizes));
      }
    }
    return broken;
  }

 private:
  // Sizes for models that insist on some: all lengths are a number of the model, or 1, and so are
  // the batches if the operators accept no others. The longest size of measuring is left out.
  std::vector<Sizes> Occurring() const {
    int64_t longest = 1;
    for (const FreeDim& dim : free_) longest = std::max(longest, dim.measured);
    std::vector<int64_t> numbers = model::OccurringSizes(graph_, longest, kMostOccurring);
    std::erase(numbers, longest);
    numbers.push_back(1);
    const Progression batch = *UsualSizes(kind_)[0][0].batch;
    const bool batch_is_free = Infers(GroupByNumber(free_), {.batch = batch});
    std::vector<Sizes> occurring;
    for (const int64_t number : numbers) {
      const Progression same = {number, 0};
      if (batch_is_free) {
        occurring.push_back({batch, same, same});
      } else {
        occurring.push_back({{}, same, same});
        occurring.push_back({same, {}, {}});
        occurring.push_back({same, same, same});
      }
    }
    return occurring;
  }

  // Proposes the first of these sizes that the operators accept.
  void ProposeOccurring() {
    const Groups by_number = GroupByNumber(free_);
    const size_t before = proposals_.size();
    Shapes last;
    for (const Sizes& sizes : Occurring()) {
      Shapes shapes = ShapesOf(by_number, sizes);
      if (shapes == last) continue;
      last = std::move(shapes);
      Propose(by_number, sizes);
      if (proposals_.size() > before) return;
    }
  }

  // Sizes that the operators accept if dimensions with the same name are equal. Those at which
  // fewer dimensions are 1 come first: such a dimension cannot differ from others by being 1. Empty
  // if all dimensions may differ anyway.
  std::vector<Sizes> SizesToBreak(const Groups& by_name) const {
    const Groups own = EachItsOwn(free_);
    std::vector<Sizes> accepted;
    for (const bool adds_up : {false, true}) {
      if (adds_up && (!accepted.empty() || !HasSums())) break;
      for (const std::vector<Sizes>& usual : UsualSizes(kind_, adds_up)) {
        if (accepted.size() == kMostProposals) return accepted;
        if (accepted.empty() && Infers(own, usual[0])) return {};
        if (Infers(by_name, usual[0])) accepted.push_back(usual[0]);
      }
    }
    const bool tries_numbers = accepted.empty();
    for (const Sizes& sizes : MeasuredSizes(kind_)) {
      if (Infers(by_name, sizes)) accepted.push_back(sizes);
    }
    if (!tries_numbers) return accepted;
    for (const Sizes& sizes : Occurring()) {
      if (accepted.size() == kMostProposals) break;
      if (CountOnes(by_name, sizes) < free_.size() && Infers(by_name, sizes)) {
        accepted.push_back(sizes);
      }
    }
    std::ranges::stable_sort(accepted, {},
                             [&](const Sizes& sizes) { return CountOnes(by_name, sizes); });
    return accepted;
  }

  // Whether lengths that add up differ from those that do not.
  bool HasSums() const {
    const Sizes usual = UsualSizes(kind_)[0][0], sums = UsualSizes(kind_, /*adds_up=*/true)[0][0];
    const auto differ = [&](const Groups& groups) {
      return ShapesOf(groups, usual) != ShapesOf(groups, sums);
    };
    return differ(GroupByName(free_)) || differ(GroupByNumber(free_));
  }

  size_t CountOnes(const Groups& groups, const Sizes& sizes) const {
    const Shapes shapes = ShapesOf(groups, sizes);
    return static_cast<size_t>(std::ranges::count_if(
        free_, [&](const FreeDim& dim) { return shapes.at(dim.input)[dim.axis] == 1; }));
  }

  static Groups WithOnes(Groups groups, const OnesSet& ones) {
    for (const size_t i : ones) groups[i] = kOne;
    return groups;
  }

  // Whether the operators accept that these dimensions, none of which is 1 otherwise, are 1.
  bool Infers(const Groups& groups, const OnesSet& ones, const Sizes& sizes) const {
    const Shapes shapes = ShapesOf(groups, sizes);
    const bool changes_all = std::ranges::none_of(
        ones, [&](size_t i) { return shapes.at(free_[i].input)[free_[i].axis] == 1; });
    return changes_all && Infers(WithOnes(groups, ones), sizes);
  }

  // Whether the operators accept these sizes, proposed or not.
  bool ProposeAt(const Sizes& sizes) {
    if (!equates_names_) {
      const Groups own = EachItsOwn(free_);
      // If all may differ, there is no equality that a caller could break.
      if (BreaksNames(kind_) ? Infers(own, sizes) : Propose(own, sizes)) return true;
    }
    const Groups by_name = GroupByName(free_);
    if (Infers(by_name, sizes)) return ProposeLoosened(by_name, sizes);
    // Dimensions without a name are not expected to be equal.
    if (BreaksNames(kind_)) return false;
    if (Propose(GroupByNameOrNumber(free_), sizes)) return true;
    const Groups by_number = GroupByNumber(free_);
    return Infers(by_number, sizes) && ProposeLoosened(by_number, sizes);
  }

  // Makes proposals from groups whose sizes the operators accept. Returns true.
  bool ProposeLoosened(Groups groups, const Sizes& sizes) {
    if (!equates_names_) groups = Split(std::move(groups), sizes);
    if (!BreaksNames(kind_)) {
      Propose(groups, sizes);
      return true;
    }
    const Groups broken = SwapWherePossible(groups, sizes);
    if (broken != groups) Propose(broken, sizes);
    return true;
  }

  bool Propose(const Groups& groups, const Sizes& sizes) {
    if (!Infers(groups, sizes)) return false;
    Shapes shapes = ShapesOf(groups, sizes);
    // Without a batch there is none that could be empty.
    if (kind_ == BindingKind::kEmptyBatch && !HasEmpty(shapes)) return true;
    if (shapes != measured_ && std::ranges::find(proposals_, shapes) == proposals_.end()) {
      proposals_.push_back(std::move(shapes));
    }
    return true;
  }

  // Whether a free dimension has at least this size.
  bool HasAtLeast(const Shapes& shapes, int64_t size) const {
    return std::ranges::any_of(
        free_, [&](const FreeDim& dim) { return shapes.at(dim.input)[dim.axis] >= size; });
  }

  static double Elements(const Shapes& shapes) {
    double sum = 0;
    for (const auto& [input, dims] : shapes) {
      double elements = 1;
      for (const int64_t dim : dims) elements *= static_cast<double>(dim);
      sum += elements;
    }
    return sum;
  }

  static bool HasEmpty(const Shapes& shapes) {
    return std::ranges::any_of(shapes, [](const auto& input) {
      return std::ranges::find(input.second, 0) != input.second.end();
    });
  }

  // Splits dimensions off from their group where the operators allow it. Tries the result for other
  // sizes first.
  Groups Split(Groups groups, const Sizes& sizes) {
    if (split_.size() == groups.size() && Infers(split_, sizes)) return split_;
    size_t tries = 0;
    std::vector<size_t> members(groups.size());  // Number of members by group.
    for (const size_t group : groups) ++members[group];
    for (size_t i = 0; i < groups.size() && tries < kMostSplits; ++i) {
      const size_t old = groups[i];
      // A group is named by its first member, so the others are split off.
      if (old == i || members[old] < 2) continue;
      ++tries;
      groups[i] = i;
      if (Infers(groups, sizes)) {
        --members[old];
      } else {
        groups[i] = old;
      }
    }
    return split_ = groups;
  }

  // Exchanges the groups of two dimensions of an input, where the operators allow it. Of inputs
  // with the same groups, the first is left as it is.
  Groups SwapWherePossible(Groups groups, const Sizes& sizes) const {
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
  bool Infers(const Groups& groups, const Sizes& sizes) const {
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

  Shapes ShapesOf(const Groups& groups, const Sizes& sizes) const {
    return WithSizes(measured_, free_, groups, sizes);
  }

  const Graph& graph_;
  const Shapes& measured_;
  const BindingKind kind_;
  const bool equates_names_;  // Whether dimensions with the same name have the same size.
  const StopCondition& stop_;
  const std::vector<FreeDim> free_;
  int64_t most_cut_ = 0;  // Number of nodes cut out at the dims used for measuring.
  Groups split_;          // The last result of Split.
  std::vector<Shapes> proposals_;
};

}  // namespace

bool BreaksNames(BindingKind kind) {
  return kind == BindingKind::kSomeAreOne || kind == BindingKind::kSwapped;
}

bool IsLarge(BindingKind kind) {
  return kind == BindingKind::kLong || kind == BindingKind::kLargeBatch;
}

absl::string_view ToString(BindingKind kind) {
  switch (kind) {
    case BindingKind::kFirst:
    case BindingKind::kSecond:
      break;
    case BindingKind::kSomeAreOne:
      return "some sizes of one name are 1";
    case BindingKind::kSwapped:
      return "sizes of two names have changed places";
    case BindingKind::kEmptyBatch:
      return "the batch is empty, only types are compared";
    case BindingKind::kLong:
    case BindingKind::kLargeBatch:
      return "sizes that reach a number of the model";
  }
  return "";
}

std::vector<Shapes> ProposeBindings(const Graph& graph, const Shapes& measured, BindingKind kind,
                                    const StopCondition& stop) {
  return Proposer(graph, measured, kind, stop).Run();
}

std::vector<Shapes> ProposeLarge(const Graph& graph, const Shapes& measured, BindingKind kind,
                                 std::vector<int64_t> numbers, double most_growth,
                                 const StopCondition& stop) {
  return Proposer(graph, measured, kind, stop).RunLarge(std::move(numbers), most_growth);
}

BrokenNames ProposeBrokenNames(const Graph& graph, const Shapes& measured,
                               const StopCondition& stop) {
  return Proposer(graph, measured, BindingKind::kSomeAreOne, stop).RunBroken();
}

}  // namespace quotient::verify
