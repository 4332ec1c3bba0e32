// Writes the canonical JSON of the report, with one function per struct. The order of the keys here
// is their order in the file. json_reader.cc reads them.

#include <nlohmann/json.hpp>

#include "core/kernels/device_name.h"
#include "core/report/gain_text.h"
#include "core/report/report.h"
#include "core/report/rule_figures.h"

namespace quotient::report {
namespace {

using Json = nlohmann::ordered_json;

// Null if nothing was run, or no time is known; a zero would look like a result.
Json IfRun(bool ran, double value) { return ran ? Json(value) : Json(nullptr); }

Json Optional(const std::optional<double>& value) { return value ? Json(*value) : Json(nullptr); }

Json ToValue(const Measured& measured) {
  const bool known = measured.has_times();
  return {{"median", IfRun(known, measured.median_us)},
          {"p10", IfRun(known, measured.p10_us)},
          {"p90", IfRun(known, measured.p90_us)},
          {"runs", measured.runs},
          {"disturbed", measured.disturbed}};
}

Json ToValue(const GraphFigures& figures) {
  return {{"nodes", figures.nodes},
          {"predicted_us", figures.predicted_us},
          {"kernels",
           {{"measured", figures.kernels.measured}, {"estimated", figures.kernels.estimated}}},
          {"measured_us", ToValue(figures.measured)},
          {"error_norm", Optional(figures.measured.error_norm)}};
}

Json ToValue(const std::optional<Recording>& recorded) {
  if (!recorded.has_value()) return nullptr;
  return {{"device", recorded->device}, {"time", recorded->time}, {"engine", recorded->engine}};
}

Json ToValue(const std::optional<PercentRange>& range) {
  if (!range.has_value()) return nullptr;
  return {{"low", range->low}, {"high", range->high}};
}

Json ToValue(const Considered& considered) {
  return {{"left_out", considered.left_out},
          {"grounds", std::string(GroundsName(considered.grounds))},
          {"predicted_percent", Optional(considered.predicted_percent)},
          {"measured_percent", ToValue(considered.measured_percent)},
          {"cpu_time_percent", ToValue(considered.cpu_time_percent)},
          {"pairs", considered.pairs},
          {"expected_percent", considered.expected_percent},
          {"probability", Optional(considered.probability)},
          {"taken", considered.taken}};
}

Json ToValue(const CheckedBinding& binding) {
  return {{"shapes", binding.shapes},
          {"kind", binding.kind},
          {"nodes", binding.nodes},
          {"cut", binding.cut}};
}

Json ToValue(const Verification& verification) {
  Json bindings = Json::array();
  for (const CheckedBinding& binding : verification.bindings) bindings.push_back(ToValue(binding));
  // Where nothing was compared, `false` would read as a difference.
  return {{"passed", verification.inputs > 0 ? Json(verification.passed) : Json()},
          {"max_relative_error", verification.max_relative_error},
          {"tolerance", verification.tolerance},
          {"inputs", verification.inputs},
          {"bindings", bindings},
          {"bindings_note", verification.bindings_note}};
}

Json ToValue(const SearchStep& step) {
  return {{"seconds", step.seconds},
          {"simulations", step.simulations},
          {"enode_cost_us", step.cost_us}};
}

Json ToValue(const SearchResumption& resumed) {
  return {
      {"times", resumed.times}, {"simulations", resumed.simulations}, {"seconds", resumed.seconds}};
}

Json ToValue(const SearchFigures& search) {
  Json best_costs = Json::array();
  for (const SearchStep& step : search.best_costs) best_costs.push_back(ToValue(step));
  return {{"strategy", search.strategy},
          {"seconds", search.seconds},
          {"grow_seconds", search.grow_seconds},
          {"enodes", search.enodes},
          {"eclasses", search.eclasses},
          {"iterations", search.iterations},
          {"stop_reason", search.stop_reason},
          {"kernels_measured", search.kernels_measured},
          {"simulations", search.simulations},
          {"states", search.states},
          {"best_costs", best_costs},
          {"resumed", ToValue(search.resumed)}};
}

Json ToValue(const KernelTally& tally) {
  return {{"kernel", tally.ops}, {"count", tally.count}, {"us", tally.us}};
}

Json ToValue(const JournalEntry& entry) {
  return {{"rule", entry.rule},   {"site", entry.site},   {"before", entry.before},
          {"after", entry.after}, {"steps", entry.steps}, {"values", entry.values}};
}

Json ToValue(const WhyNot& answer) {
  return {{"rule", answer.rule},
          {"node", answer.node},
          {"answer", answer.answer},
          {"text", answer.text},
          {"details", answer.details},
          {"with_us", Optional(answer.with_us)},
          {"without_us", Optional(answer.without_us)}};
}

Json IfGiven(const std::string& text) { return text.empty() ? Json(nullptr) : Json(text); }

Json ToValue(const NodeCost& node) {
  return {{"name", node.name},
          {"op", node.op},
          {"before_us", Optional(node.before_us)},
          {"after_us", Optional(node.after_us)},
          {"before_source", IfGiven(node.before_source)},
          {"after_source", IfGiven(node.after_source)},
          {"spread", node.spread}};
}

Json ToValue(const DrawnNode& node) {
  return {{"name", node.name},       {"op", node.op},           {"inputs", node.inputs},
          {"changed", node.changed}, {"cost_us", node.cost_us}, {"estimated", node.estimated}};
}

// Declared because the lists of gains are lists of structs with lists.
Json ToValue(const RegionGain& region);

template <typename T>
Json ToList(const std::vector<T>& items) {
  Json list = Json::array();
  for (const T& item : items) list.push_back(ToValue(item));
  return list;
}

Json ToValue(const RegionGain& region) {
  return {{"count", region.sites.size()},
          {"saved_us", region.saved_us()},
          {"before", ToList(region.before)},
          {"after", ToList(region.after)},
          {"sites", region.sites}};
}

Json ToValue(const RuleGain& gain, const Report& report) {
  return {{"rules", gain.rules},
          {"saved_us", gain.saved_us()},
          {"saved_percent", PercentOfOriginal(report, gain.saved_us())},
          {"estimated", gain.estimated},
          {"regions", ToList(gain.regions)}};
}

Json GainsValue(const Report& report) {
  Json by_rules = Json::array();
  for (const RuleGain& gain : report.gains.by_rules) by_rules.push_back(ToValue(gain, report));
  return {{"by_rules", by_rules}, {"others_us", report.gains.others_us}};
}

Json RulesValue(const Report& report) {
  Json rules = Json::array();
  for (const std::string& name : RulesByWorth(report.rules)) {
    const RuleFigures& figures = report.rules.at(name);
    rules.push_back({{"rule", name},
                     {"matches", figures.matches},
                     {"applied", figures.applied},
                     {"enodes", figures.enodes},
                     {"uses", figures.uses},
                     {"saved_us", figures.saved_us},
                     {"saved_alone_us", figures.saved_alone_us}});
  }
  return rules;
}

}  // namespace

absl::string_view OutcomeName(Outcome outcome) {
  return outcome == Outcome::kImproved ? "improved" : "no_improvement";
}

std::string ToJson(const Report& report) {
  const absl::string_view outcome = OutcomeName(report.outcome);
  const kernels::DeviceDescription device = kernels::DescribeDevice(report.fingerprint);
  const Json json = {
      {"outcome", std::string(outcome)},
      {"passed_through", IfGiven(report.passed_through)},
      {"model", report.model_name},
      {"engine", report.engine_version},
      {"measured", report.measured},
      {"device",
       {{"name", report.device},
        {"hardware", device.hardware},
        {"library", IfGiven(device.library)},
        {"fingerprint", report.fingerprint},
        {"threads", report.threads},
        {"recorded", ToValue(report.recorded)}}},
      {"original", ToValue(report.original)},
      {"optimized", ToValue(report.optimized)},
      {"cut_nodes", report.cut_nodes},
      {"cut_nodes_run", report.cut_nodes_run},
      {"speedup_percent", IfRun(report.knows_speedup(), report.speedup_percent)},
      {"speedup_interval_percent", ToValue(report.speedup_interval)},
      {"predicted_speedup_percent", Optional(report.predicted_speedup_percent)},
      {"considered", ToList(report.considered)},
      {"verification", ToValue(report.verification)},
      {"search", ToValue(report.search)},
      {"gains", GainsValue(report)},
      {"rules", RulesValue(report)},
      {"journal", ToList(report.journal)},
      {"why_not", ToList(report.why_not)},
      {"explanation", report.explanation ? ToValue(*report.explanation) : Json(nullptr)},
      {"nodes", ToList(report.nodes)},
      {"phase_seconds", report.phase_seconds},
      {"notes", report.notes},
      {"drawing", {{"before", ToList(report.drawn_before)}, {"after", ToList(report.drawn_after)}}},
  };
  // Names come from users. By default dump() would throw on bytes that are not UTF-8; here they are
  // replaced.
  return json.dump(1, ' ', false, Json::error_handler_t::replace) + "\n";
}

}  // namespace quotient::report
