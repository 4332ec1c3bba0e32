#include "core/extract/needed.h"

#include <algorithm>
#include <array>
#include <cstdint>
#include <span>

#include "core/egraph/grouped_list.h"
#include "core/extract/components.h"

namespace quotient::extract {
namespace {

// Finds which of up to kMost classes are below the roots in every selection: a class requires
// itself and what all of its e-nodes require. The greatest solution is wanted (requirements.h); it
// is computed component by component, from the bottom up.
class Examination {
 public:
  static constexpr size_t kMost = 256;

  Examination(const Instance& instance, const egraph::GroupedList<Class>& components,
              std::span<const Class> examined)
      : instance_(instance), bit_(instance.num_classes(), kNoBit) {
    Set all;
    all.fill(~uint64_t{0});
    required_.assign(instance.num_classes(), all);
    for (uint32_t i = 0; i < examined.size(); ++i) bit_[examined[i].value()] = i;
    for (uint32_t i = 0; i < components.num_keys(); ++i) {
      while (Sweep(components[i]) && components[i].size() > 1) {
      }
    }
  }

  void MarkRequired(std::span<const Class> examined, std::vector<bool>& needed) const {
    for (const Class root : instance_.roots) {
      for (const Class id : examined) {
        if (Has(required_[root.value()], bit_[id.value()])) needed[id.value()] = true;
      }
    }
  }

 private:
  using Set = std::array<uint64_t, kMost / 64>;
  static constexpr uint32_t kNoBit = 0xffffffffu;

  static bool Has(const Set& set, uint32_t bit) { return (set[bit / 64] >> (bit % 64) & 1) != 0; }

  // True if something changed.
  bool Sweep(std::span<const Class> component) {
    bool changed = false;
    for (auto at = component.rbegin(); at != component.rend(); ++at) {  // Mostly children first.
      const Class id = *at;
      Set common;
      common.fill(~uint64_t{0});
      for (const Node node : instance_.nodes[id.value()]) {
        Set required = {};
        for (const Class child : instance_.children[node.value()]) {
          for (size_t i = 0; i < required.size(); ++i) required[i] |= required_[child.value()][i];
        }
        for (size_t i = 0; i < common.size(); ++i) common[i] &= required[i];
      }
      if (const uint32_t bit = bit_[id.value()]; bit != kNoBit) {
        common[bit / 64] |= uint64_t{1} << (bit % 64);
      }
      changed |= common != required_[id.value()];
      required_[id.value()] = common;
    }
    return changed;
  }

  const Instance& instance_;
  std::vector<uint32_t> bit_;  // By Class; kNoBit if it is not examined.
  std::vector<Set> required_;  // By Class.
};

bool IsOriginal(const Instance& instance, Class id) {
  bool original = false;
  for (const Node node : instance.nodes[id.value()]) {
    if (instance.cost[node.value()] == 0 && instance.children[node.value()].empty()) return false;
    original |= instance.enode[node.value()].valid() && instance.rewritten[node.value()] == 0;
  }
  return original;
}

}  // namespace

std::vector<bool> FindNeeded(const Instance& instance) {
  const std::vector<uint32_t> component = StrongComponents(instance);
  egraph::GroupedList<Class> members(instance.num_classes());
  for (const uint32_t each : component) members.Count(each);
  members.Allocate();
  for (uint32_t i = 0; i < component.size(); ++i) members.Append(component[i], Class(i));
  const auto is_alone = [&](Class id) { return members[component[id.value()]].size() == 1; };

  std::vector<bool> needed(instance.num_classes(), false);
  for (const Class root : instance.roots) needed[root.value()] = is_alone(root);
  std::vector<Class> examined;
  for (uint32_t i = 0; i < instance.num_classes(); ++i) {
    const Class id(i);
    if (!instance.inside[i] && !needed[i] && is_alone(id) && IsOriginal(instance, id)) {
      examined.push_back(id);
    }
  }
  for (size_t i = 0; i < examined.size(); i += Examination::kMost) {
    const auto some =
        std::span(examined).subspan(i, std::min(Examination::kMost, examined.size() - i));
    Examination(instance, members, some).MarkRequired(some, needed);
  }
  return needed;
}

}  // namespace quotient::extract
