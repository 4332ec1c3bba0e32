#include "core/extract/requirements.h"

#include <algorithm>

#include "core/extract/bottom_up.h"
#include "core/extract/lower_bound.h"

namespace quotient::extract {
namespace {

constexpr size_t kMaxClasses = 30'000;  // 113 MB of bits.

// Children first, as far as cycles allow.
std::vector<Class> BottomUpOrder(const Instance& instance) {
  const std::vector<double> depth = [&instance] {
    Instance unit = instance;
    std::ranges::fill(unit.cost, 1);
    return MinimizePathCost(unit).value;
  }();
  std::vector<Class> order;
  for (uint32_t i = 0; i < instance.num_classes(); ++i) order.push_back(Class(i));
  std::ranges::stable_sort(order, {}, [&depth](Class id) { return depth[id.value()]; });
  return order;
}

}  // namespace

Requirements::Requirements(const Instance& instance)
    : instance_(instance),
      num_words_((instance.num_classes() + 63) / 64),
      bits_(instance.num_classes() * num_words_, ~uint64_t{0}) {}

// Computes the greatest solution of: a class requires itself and what all of its e-nodes require.
// By induction over the depth of a selection, everything in it is required.
std::optional<Requirements> Requirements::Compute(const Instance& instance,
                                                  const StopCondition& stop) {
  if (instance.num_classes() > kMaxClasses) return std::nullopt;
  Requirements requirements(instance);
  const std::vector<Class> order = BottomUpOrder(instance);
  do {
    if (stop.ShouldStop()) return std::nullopt;
  } while (requirements.Sweep(order));
  return requirements;
}

// True if something changed.
bool Requirements::Sweep(std::span<const Class> order) {
  bool changed = false;
  for (Class id : order) {
    Set common(num_words_, ~uint64_t{0});
    for (Node node : instance_.nodes[id.value()]) {
      const Set required = of(node);
      for (size_t i = 0; i < num_words_; ++i) common[i] &= required[i];
    }
    common[id.value() / 64] |= uint64_t{1} << (id.value() % 64);
    const auto row = std::span(bits_).subspan(id.value() * num_words_, num_words_);
    if (std::ranges::equal(row, common)) continue;
    std::ranges::copy(common, row.begin());
    changed = true;
  }
  return changed;
}

Requirements::Set Requirements::of(Node node) const {
  Set set = Empty();
  for (Class child : instance_.children[node.value()]) Unite(set, of(child));
  return set;
}

Requirements::Set Requirements::OfRoots() const {
  Set set = Empty();
  for (Class root : instance_.roots) Unite(set, of(root));
  return set;
}

std::vector<bool> FindForced(const Instance& instance,
                             const std::optional<Requirements>& requirements) {
  std::vector<bool> forced(instance.num_classes(), false);
  for (Class id : ForcedClasses(instance)) forced[id.value()] = true;
  if (requirements.has_value()) {
    Requirements::ForEach(requirements->OfRoots(), [&](Class id) { forced[id.value()] = true; });
  }
  return forced;
}

}  // namespace quotient::extract
