#include "core/explain/explain.h"

#include <algorithm>
#include <cmath>
#include <functional>
#include <map>
#include <set>
#include <string>
#include <utility>

#include "absl/container/flat_hash_map.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "core/cost/work.h"
#include "core/explain/blocked_layout.h"
#include "core/explain/fusions.h"
#include "core/explain/model_view.h"
#include "core/explain/peak.h"
#include "core/explain/spellings.h"
#include "core/kernels/kernel_names.h"
#include "core/kernels/ort_fusions.h"
#include "core/ops/op.h"
#include "core/report/profile.h"

namespace quotient::explain {
namespace {

using model::NodeId;
using report::Explanation;
using report::MissedFusion;
using report::TimeShares;

bool IsEstimated(const cost::KernelCost& cost) { return cost.source == cost::CostSource::kModel; }

template <typename T, typename Key>
std::vector<T> Sorted(std::map<std::string, T> by_name, Key key) {
  std::vector<T> rows;
  for (auto& [name, row] : by_name) rows.push_back(std::move(row));
  std::ranges::stable_sort(rows, std::greater<>(), key);
  return rows;
}

// --- What is fused

std::vector<report::FusedKernels> FusedOf(const ModelView& model) {
  std::map<std::string, report::FusedKernels> by_name;
  for (size_t k = 0; k < model.kernels().nodes.size(); ++k) {
    const std::vector<NodeId>& nodes = model.kernels().nodes[k];
    if (nodes.size() < 2) continue;
    const std::string operators = absl::StrJoin(
        nodes, " + ", [&](std::string* out, NodeId id) { *out += model.node(id).op; });
    const std::string kernel = kernels::OperatorNames(model.Spec(k), " + ");
    report::FusedKernels& row = by_name[absl::StrCat(operators, "\n", kernel)];
    row.operators = operators;
    row.kernel = kernel;
    ++row.places;
    row.us += model.cost().costs[k].us;
    row.estimated = row.estimated || IsEstimated(model.cost().costs[k]);
  }
  return Sorted(std::move(by_name), [](const report::FusedKernels& row) { return row.us; });
}

// --- What is not

// A place, with the kernels that stand alone there.
struct Missed {
  Finding finding;
  NodeId site;
  std::set<size_t> kernels;
};

std::set<size_t> KernelsOf(const ModelView& model, const std::vector<NodeId>& nodes) {
  std::set<size_t> kernels;
  for (const NodeId id : nodes) {
    if (const std::optional<size_t> kernel = model.KernelOf(id)) kernels.insert(*kernel);
  }
  return kernels;
}

// Every kernel counts at one place at most: functions that are written out come first, because
// their nodes would be told of one by one otherwise.
std::vector<Missed> MissedOf(const ModelView& model) {
  std::vector<Missed> missed;
  std::set<size_t> seen;
  const auto add = [&](Finding finding, NodeId site, std::set<size_t> kernels) {
    std::erase_if(kernels, [&](size_t kernel) { return seen.contains(kernel); });
    if (kernels.empty()) return;
    seen.insert(kernels.begin(), kernels.end());
    missed.push_back({std::move(finding), site, std::move(kernels)});
  };
  const auto nodes = [&](const auto& body) {
    for (size_t n = 0; n < model.graph().nodes.size(); ++n) body(NodeId(static_cast<uint32_t>(n)));
  };
  nodes([&](NodeId id) {
    if (std::optional<Spelling> spelling = WhyNotRecognized(model, id)) {
      add(std::move(spelling->finding), id, KernelsOf(model, spelling->nodes));
    }
  });
  const int64_t block = kernels::ChannelsInBlock();
  nodes([&](NodeId id) {
    std::optional<Finding> finding = WhyNotFused(model, id);
    if (!finding.has_value()) finding = WhyNotBlocked(model, id, block);
    if (finding.has_value()) add(*std::move(finding), id, KernelsOf(model, {id}));
  });
  return missed;
}

// The names of the nodes that these kernels compute.
std::vector<std::string> NamesOf(const ModelView& model, const std::set<size_t>& kernels) {
  std::vector<std::string> names;
  for (const size_t kernel : kernels) {
    for (const NodeId id : model.kernels().nodes[kernel]) names.push_back(model.Name(id));
  }
  return names;
}

// --- What Quotient did about it

// The regions that graphs have rewritten, by the names of the original's nodes in them.
class Rewritten {
 public:
  struct Region {
    report::Remedy remedy = report::Remedy::kNone;
    const report::RuleGain* gain = nullptr;
    double saved_us = 0;
  };

  explicit Rewritten(std::span<const TriedGraph> tried) {
    for (const TriedGraph& graph : tried) {
      for (const report::RuleGain& gain : graph.gains.by_rules) Add(graph, gain);
    }
  }

  // Of the regions with one of these nodes that which the result has, else that which was predicted
  // to save most among the graphs that were tried. Null if there is none.
  const Region* Find(const std::vector<std::string>& nodes) const {
    const Region* best = nullptr;
    for (const std::string& node : nodes) {
      const auto found = best_.find(node);
      if (found == best_.end()) continue;
      const Region& region = regions_[found->second];
      if (best == nullptr || Rank(region) > Rank(*best)) best = &region;
    }
    return best;
  }

 private:
  void Add(const TriedGraph& graph, const report::RuleGain& gain) {
    for (const report::RegionGain& like : gain.regions) {
      const double saved_us = like.saved_us() / static_cast<double>(like.sites.size());
      for (const std::vector<std::string>& nodes : like.nodes) {
        const size_t index = regions_.size();
        regions_.push_back({graph.is_result ? report::Remedy::kRewritten : report::Remedy::kTried,
                            &gain, saved_us});
        for (const std::string& node : nodes) Offer(node, index);
      }
    }
  }

  static std::pair<report::Remedy, double> Rank(const Region& region) {
    return {region.remedy, region.saved_us};
  }

  void Offer(const std::string& node, size_t index) {
    const auto [at, is_new] = best_.try_emplace(node, index);
    if (!is_new && Rank(regions_[index]) > Rank(regions_[at->second])) at->second = index;
  }

  std::vector<Region> regions_;
  absl::flat_hash_map<std::string, size_t> best_;
};

// Adds up what was done at several places.
class Doings {
 public:
  // `region`: that of one more place; null if it has none.
  void Add(const Rewritten::Region* region, report::WhatWasDone* done) {
    if (region == nullptr || !counted_[done].insert(region).second) return;
    done->remedy = std::max(done->remedy, region->remedy);
    done->saved_us += region->saved_us;
    for (const std::string& rule : region->gain->rules) {
      if (std::ranges::find(done->rules, rule) == done->rules.end()) done->rules.push_back(rule);
    }
  }

 private:
  // The regions that each sum has already.
  std::map<const report::WhatWasDone*, std::set<const Rewritten::Region*>> counted_;
};

// Places that are alike, and for which the same was done, are one row, with the first one's text.
std::vector<MissedFusion> Rows(const ModelView& model, const std::vector<Missed>& missed,
                               const Rewritten& rewritten) {
  std::map<std::string, MissedFusion> by_kind;
  std::set<std::string> of_several_texts;
  Doings doings;
  for (const Missed& place : missed) {
    const std::string name = model.Name(place.site);
    const Rewritten::Region* const region = rewritten.Find(NamesOf(model, place.kernels));
    const report::Remedy remedy = region == nullptr ? report::Remedy::kNone : region->remedy;
    const std::string kind =
        absl::StrCat(place.finding.what, "\n", place.finding.reason.name, "\n", RemedyName(remedy));
    const auto [at, is_new] = by_kind.try_emplace(kind);
    MissedFusion& row = at->second;
    if (is_new) {
      row.what = place.finding.what;
      row.reason = std::string(place.finding.reason.name);
      row.text = place.finding.reason.text;
    } else if (row.text != place.finding.reason.text) {
      of_several_texts.insert(kind);
    }
    row.sites.push_back(name);
    for (const size_t kernel : place.kernels) {
      row.us += model.cost().costs[kernel].us;
      row.estimated = row.estimated || IsEstimated(model.cost().costs[kernel]);
    }
    doings.Add(region, &row.done);
  }
  for (const std::string& kind : of_several_texts) {
    absl::StrAppend(&by_kind[kind].text, " (at the first place, and alike at the others)");
  }
  return Sorted(std::move(by_kind), [](const MissedFusion& row) { return row.us; });
}

// --- What makes no difference

std::vector<report::RuntimeRewrite> ByRuntime(std::span<const TriedGraph> tried) {
  std::set<std::string> changing;
  for (const TriedGraph& graph : tried) {
    for (const report::RuleGain& gain : graph.gains.by_rules) {
      changing.insert(gain.rules.begin(), gain.rules.end());
    }
  }
  std::map<std::string, report::RuntimeRewrite> by_rule;
  for (const TriedGraph& graph : tried) {
    std::map<std::string, int64_t> places;
    for (const report::JournalEntry& entry : graph.journal) ++places[entry.rule];
    for (const auto& [rule, count] : places) {
      if (changing.contains(rule)) continue;
      by_rule[rule].rule = rule;
      by_rule[rule].places = std::max(by_rule[rule].places, count);
    }
  }
  return Sorted(std::move(by_rule), [](const report::RuntimeRewrite& row) { return row.places; });
}

// --- Where the time goes

// The additions and multiplications of the products among these nodes.
double OperationsOf(const ModelView& model, const std::vector<NodeId>& nodes) {
  double operations = 0;
  for (const NodeId id : nodes) {
    const model::Node& node = model.node(id);
    const ops::OpDef* const op = ops::FindOp(node.op);
    if (op == nullptr || op->contraction.products == nullptr) continue;
    const bool has_second = node.inputs.size() > 1 && node.inputs[1].valid();
    const ops::Products products =
        op->contraction.products(node.attributes, model.Type(node.inputs[0]).dims(),
                                 has_second ? model.Type(node.inputs[1]).dims() : ops::Dims(),
                                 model.Type(node.outputs[0]).dims());
    operations += 2 * products.batch * products.m * products.n * products.k;
  }
  return operations;
}

KernelWork WorkOfKernel(const ModelView& model, size_t kernel) {
  kernels::KernelSpec spec = model.Spec(kernel);
  // Operators of ONNX may read less than all of an operand.
  if (const ops::OpDef* const op = ops::FindOp(OperatorOf(spec));
      op != nullptr && op->op_class == ops::OpClass::kMove) {
    spec.op = op->name;
  }
  const cost::Work work = cost::WorkOf(spec);
  return {.operations = OperationsOf(model, model.kernels().nodes[kernel]),
          .activation_bytes = work.activation_bytes,
          .constant_bytes = work.constant_bytes,
          .footprint_bytes = std::exp2(spec.constant_footprint_log2)};
}

TimeShares SharesOf(const ModelView& model, const std::vector<Missed>& missed,
                    const std::optional<report::Peak>& peak) {
  TimeShares shares{.us = model.cost().total_us};
  for (size_t k = 0; k < model.cost().groups.size(); ++k) {
    const KernelWork work = WorkOfKernel(model, k);
    if (!(work.operations > 0)) continue;
    const double us = model.cost().costs[k].us;
    shares.products_us += us;
    if (peak.has_value()) shares.products_at_peak_us += std::min(us, TimeAtPeak(*peak, work).us);
  }
  for (const Missed& place : missed) {
    for (const size_t kernel : place.kernels) shares.missed_us += model.cost().costs[kernel].us;
  }
  return shares;
}

// The peak, or more if a kernel that was measured and has a notable share of the time reaches more.
report::Peak WithBestKernel(report::Peak peak, const ModelView& model) {
  constexpr double kNotable = 0.02;
  for (size_t k = 0; k < model.cost().groups.size(); ++k) {
    const cost::KernelCost& cost = model.cost().costs[k];
    if (IsEstimated(cost) || cost.us < kNotable * model.cost().total_us) continue;
    const double operations = OperationsOf(model, model.kernels().nodes[k]);
    peak.operations_per_us = std::max(peak.operations_per_us, operations / cost.us);
  }
  return peak;
}

std::vector<report::KernelsBelowPeak> BelowPeak(const ModelView& model, const report::Peak& peak,
                                                const Rewritten& rewritten) {
  constexpr double kLeastLoss = 0.005;  // Of the time of the whole.
  std::map<std::string, report::KernelsBelowPeak> by_key;
  Doings doings;
  for (size_t k = 0; k < model.cost().groups.size(); ++k) {
    const kernels::KernelSpec& spec = model.Spec(k);
    const cost::KernelCost& cost = model.cost().costs[k];
    const LeastTime least = TimeAtPeak(peak, WorkOfKernel(model, k));
    report::KernelsBelowPeak& row = by_key[kernels::KernelKey(spec)];
    if (row.places++ == 0) {
      row.kernel = kernels::OperatorNames(spec, " + ");
      row.operands = report::OperandsText(spec);
      const std::vector<NodeId>& nodes = model.kernels().nodes[k];
      if (!nodes.empty()) row.site = model.Name(nodes.front());
      row.bound = least.bound;
      row.estimated = IsEstimated(cost);
    }
    doings.Add(rewritten.Find(NamesOf(model, {k})), &row.done);
    row.us += cost.us;
    row.at_peak_us += std::min(cost.us, least.us);
  }
  std::erase_if(by_key, [&](const auto& entry) {
    return entry.second.us - entry.second.at_peak_us < kLeastLoss * model.cost().total_us;
  });
  return Sorted(std::move(by_key),
                [](const report::KernelsBelowPeak& row) { return row.us - row.at_peak_us; });
}

}  // namespace

Explanation Explain(const RunModel& original, const RunModel* result,
                    std::span<const TriedGraph> tried, const std::optional<report::Peak>& peak) {
  const ModelView model(original.graph, original.open, original.cost);
  const std::vector<Missed> missed = MissedOf(model);
  Explanation explanation;
  if (peak.has_value()) explanation.peak = WithBestKernel(*peak, model);
  explanation.fused = FusedOf(model);
  const Rewritten rewritten(tried);
  explanation.missed = Rows(model, missed, rewritten);
  explanation.by_runtime = ByRuntime(tried);
  if (explanation.peak.has_value())
    explanation.below_peak = BelowPeak(model, *explanation.peak, rewritten);
  explanation.original = SharesOf(model, missed, explanation.peak);
  explanation.result = explanation.original;
  if (result != nullptr) {
    const ModelView left(result->graph, result->open, result->cost);
    explanation.result = SharesOf(left, MissedOf(left), explanation.peak);
  }
  return explanation;
}

}  // namespace quotient::explain
