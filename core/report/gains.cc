// GainsOf works in four steps:
//
//   1. Values of both graphs get numbers; equal values have the same one. A kernel is then what it
//      computes, the numbers it reads and the numbers it makes. A device may fuse a node into a
//      kernel without telling it; such a node, which no kernel is known to compute, takes part as a
//      kernel that costs nothing, so that it connects the kernels around it.
//   2. Kernels that both graphs have are paired. The differences of their costs add up to
//      Gains::others_us.
//   3. The others are united to regions: with the kernels that make one of the values that they
//      make, and with those that read or make a value that only one of the graphs has. So a region
//      ends at values that both graphs have.
//   4. The journal says which values each rewrite computes in another way, and so which rules
//      rewrote a region. Regions that are alike are added up.
//
// Constants have no numbers: weights of the result are computed from those of the original, and
// kernels that compute one value from the same values are the same with whatever weights.

#include "core/report/gains.h"

#include <algorithm>
#include <functional>
#include <iterator>
#include <map>
#include <numeric>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "core/kernels/kernel_names.h"
#include "core/kernels/kernel_spec.h"
#include "core/report/gain_kernels.h"

namespace quotient::report {
namespace {

using cost::CostSource;

// Disjoint sets of kernels, by index. The least index of a set stands for it.
class Sets {
 public:
  explicit Sets(size_t size) : parent_(size) { std::iota(parent_.begin(), parent_.end(), 0); }

  size_t Find(size_t index) {
    while (parent_[index] != index) index = parent_[index] = parent_[parent_[index]];
    return index;
  }
  void Unite(size_t a, size_t b) {
    a = Find(a);
    b = Find(b);
    parent_[std::max(a, b)] = std::min(a, b);
  }

 private:
  std::vector<size_t> parent_;
};

// Kernels without a cost are not listed.
struct Region {
  std::vector<const GainKernel*> before;
  std::vector<const GainKernel*> after;
  std::vector<std::string> rules;  // In order of use, each listed once.
};

void AddRule(const std::string& rule, std::vector<std::string>& rules) {
  if (std::ranges::find(rules, rule) == rules.end()) rules.push_back(rule);
}

std::string Key(std::vector<std::string> parts) {
  std::ranges::sort(parts);
  return absl::StrJoin(parts, "\n");
}

std::string KeyOfKernels(const std::vector<const GainKernel*>& kernels) {
  std::vector<std::string> keys;
  keys.reserve(kernels.size());
  for (const GainKernel* const kernel : kernels) keys.push_back(KernelKey(kernel->group->spec));
  return Key(std::move(keys));
}

// Name of the node where the region costs most, in the original if there is a kernel.
std::string SiteOf(const Region& region) {
  const std::vector<const GainKernel*>& kernels =
      region.before.empty() ? region.after : region.before;
  const GainKernel* dearest = nullptr;
  for (const GainKernel* const kernel : kernels) {
    if (kernel->is_reorder()) continue;
    if (dearest == nullptr || kernel->cost->us > dearest->cost->us) dearest = kernel;
  }
  if (dearest == nullptr) return "";
  const model::Graph& graph = dearest->graph->graph;
  return NameOfNode(graph, graph.node(dearest->group->nodes[0]));
}

std::vector<std::string> NodesOf(const std::vector<const GainKernel*>& kernels) {
  std::vector<std::string> names;
  for (const GainKernel* const kernel : kernels) {
    const model::Graph& graph = kernel->graph->graph;
    for (const model::NodeId id : kernel->group->nodes) {
      names.push_back(NameOfNode(graph, graph.node(id)));
    }
  }
  return names;
}

void Tally(const std::vector<const GainKernel*>& kernels, std::vector<KernelTally>& tallies) {
  for (const GainKernel* const kernel : kernels) {
    const std::string ops = kernels::OperatorNames(kernel->group->spec, " + ");
    auto tally = std::ranges::find(tallies, ops, &KernelTally::ops);
    if (tally == tallies.end()) tally = tallies.insert(tally, {.ops = ops});
    ++tally->count;
    tally->us += kernel->cost->us;
  }
}

bool HasEstimate(const std::vector<const GainKernel*>& kernels) {
  return std::ranges::any_of(
      kernels, [](const GainKernel* kernel) { return kernel->cost->source == CostSource::kModel; });
}

class Comparison {
 public:
  Comparison(const CostedGraph& before, const CostedGraph& after, const SharedNames& names)
      : numbers_(names) {
    AddKernels(before, numbers_, kernels_);
    num_before_ = kernels_.size();
    AddKernels(after, numbers_, kernels_);
    sets_ = Sets(kernels_.size());
  }

  Gains Run(std::span<const JournalEntry> journal) {
    PairEqualKernels();
    UniteToRegions();
    MakeRegions();
    NameRules(journal);
    AddUp();
    return std::move(gains_);
  }

 private:
  bool IsBefore(size_t index) const { return index < num_before_; }

  // --- Step 2

  void PairEqualKernels() {
    is_paired_.resize(kernels_.size());
    const auto key = [this](size_t i) {
      return absl::StrCat(absl::StrJoin(kernels_[i].reads, " "), ">",
                          absl::StrJoin(kernels_[i].makes, " "), "|", kernels_[i].work);
    };
    absl::flat_hash_map<std::string, std::vector<size_t>> unpaired;
    for (size_t i = num_before_; i-- > 0;) unpaired[key(i)].push_back(i);
    for (size_t i = num_before_; i < kernels_.size(); ++i) {
      const auto same = unpaired.find(key(i));
      if (same == unpaired.end() || same->second.empty()) continue;
      const size_t other = same->second.back();
      same->second.pop_back();
      is_paired_[i] = is_paired_[other] = true;
      gains_.others_us += kernels_[other].us() - kernels_[i].us();
    }
  }

  // --- Step 3

  // Which values are read or made by kernels of both graphs: regions end there.
  std::vector<bool> ValuesOfBoth() const {
    std::vector<bool> is_before(numbers_.size()), is_after(numbers_.size());
    for (size_t i = 0; i < kernels_.size(); ++i) {
      std::vector<bool>& seen = IsBefore(i) ? is_before : is_after;
      const GainKernel& kernel = kernels_[i];
      for (const int value : kernel.reads) seen[value] = true;
      for (const int value : kernel.results) seen[value] = true;
    }
    for (size_t value = 0; value < is_before.size(); ++value) {
      is_before[value] = is_before[value] && is_after[value];
    }
    return is_before;
  }

  void UniteToRegions() {
    const std::vector<bool> is_of_both = ValuesOfBoth();
    makers_.resize(numbers_.size());
    std::vector<std::vector<size_t>> readers(numbers_.size());
    for (size_t i = 0; i < kernels_.size(); ++i) {
      if (is_paired_[i] || kernels_[i].is_reorder()) continue;
      for (const int value : kernels_[i].makes) makers_[value].push_back(i);
      for (const int value : kernels_[i].reads) readers[value].push_back(i);
    }
    for (size_t value = 0; value < numbers_.size(); ++value) {
      if (makers_[value].empty()) continue;
      const size_t maker = makers_[value].front();
      for (const size_t other : makers_[value]) sets_.Unite(maker, other);
      if (is_of_both[value]) continue;
      for (const size_t reader : readers[value]) sets_.Unite(maker, reader);
    }
    for (size_t i = 0; i < kernels_.size(); ++i) {
      if (is_paired_[i] || !kernels_[i].is_reorder()) continue;
      AddReorder(i, readers);
    }
  }

  // A change of layout belongs to a kernel of its graph that reads the value, or else makes it, if
  // one of these is in a region. Of a kernel that a device made of a file the value may be unknown.
  void AddReorder(size_t index, const std::vector<std::vector<size_t>>& readers) {
    for (const int value : kernels_[index].reads) {
      for (const std::vector<size_t>* const near :
           {&readers[value], &std::as_const(makers_)[value]}) {
        for (const size_t other : *near) {
          if (IsBefore(other) == IsBefore(index)) return sets_.Unite(index, other);
        }
      }
    }
    is_paired_[index] = true;
    gains_.others_us += (IsBefore(index) ? 1 : -1) * kernels_[index].us();
  }

  void MakeRegions() {
    std::map<size_t, size_t> region_of_set;
    region_of_.resize(kernels_.size());
    for (size_t i = 0; i < kernels_.size(); ++i) {
      if (is_paired_[i]) continue;
      const auto [at, is_new] = region_of_set.try_emplace(sets_.Find(i), regions_.size());
      if (is_new) regions_.emplace_back();
      region_of_[i] = at->second;
      if (kernels_[i].group == nullptr) continue;
      Region& region = regions_[at->second];
      (IsBefore(i) ? region.before : region.after).push_back(&kernels_[i]);
    }
  }

  // --- Step 4

  Region* RegionThatMakes(const std::string& value) {
    const auto number = static_cast<size_t>(numbers_.Of(value));
    if (number >= makers_.size() || makers_[number].empty()) return nullptr;
    return &regions_[region_of_[makers_[number].front()]];
  }

  void NameRules(std::span<const JournalEntry> journal) {
    for (const JournalEntry& entry : journal) {
      for (size_t i = 0; i < entry.values.size(); ++i) {
        Region* const region = RegionThatMakes(entry.values[i]);
        if (region == nullptr) continue;
        // The steps lead to the first value. The others were made by the rule itself.
        if (i == 0) {
          for (const std::string& step : entry.steps) AddRule(step, region->rules);
        }
        AddRule(entry.rule, region->rules);
      }
    }
  }

  void AddUp() {
    std::map<std::string, size_t> by_rules;
    std::map<std::string, size_t> by_kind;
    for (const Region& region : regions_) {
      if (region.before.empty() && region.after.empty()) continue;
      const std::string rules = Key(region.rules);
      const auto [group, is_new_group] = by_rules.try_emplace(rules, gains_.by_rules.size());
      if (is_new_group) gains_.by_rules.push_back({.rules = region.rules});
      RuleGain& gain = gains_.by_rules[group->second];
      const std::string kind = absl::StrCat(rules, "\n\n", KeyOfKernels(region.before), "\n\n",
                                            KeyOfKernels(region.after));
      const auto [at, is_new] = by_kind.try_emplace(kind, gain.regions.size());
      if (is_new) gain.regions.emplace_back();
      RegionGain& sum = gain.regions[at->second];
      Tally(region.before, sum.before);
      Tally(region.after, sum.after);
      sum.sites.push_back(SiteOf(region));
      sum.nodes.push_back(NodesOf(region.before));
      gain.estimated = gain.estimated || HasEstimate(region.before) || HasEstimate(region.after);
    }
    const auto saved = [](const auto& gain) { return gain.saved_us(); };
    for (RuleGain& gain : gains_.by_rules) {
      std::ranges::stable_sort(gain.regions, std::greater<>(), saved);
    }
    std::ranges::stable_sort(gains_.by_rules, std::greater<>(), saved);
  }

  ValueNumbers numbers_;
  std::vector<GainKernel> kernels_;          // Those of the original, then those of the result.
  size_t num_before_ = 0;                    // How many of them are the original's.
  std::vector<bool> is_paired_;              // By kernel: whether it is in no region.
  Sets sets_{0};                             // Kernels that are in one region.
  std::vector<std::vector<size_t>> makers_;  // By value: the kernels of regions that make it.
  std::vector<size_t> region_of_;            // By kernel.
  std::vector<Region> regions_;
  Gains gains_;
};

double Sum(const std::vector<KernelTally>& tallies) {
  double us = 0;
  for (const KernelTally& tally : tallies) us += tally.us;
  return us;
}

}  // namespace

double RegionGain::saved_us() const { return Sum(before) - Sum(after); }

double RuleGain::saved_us() const {
  double us = 0;
  for (const RegionGain& region : regions) us += region.saved_us();
  return us;
}

Gains GainsOf(const CostedGraph& before, const CostedGraph& after, const SharedNames& names,
              std::span<const JournalEntry> journal) {
  return Comparison(before, after, names).Run(journal);
}

}  // namespace quotient::report
