// Reads the canonical JSON of the report, which json_writer.cc writes, with one function per
// struct.

#include <nlohmann/json.hpp>

#include "absl/strings/str_cat.h"
#include "core/report/report.h"

namespace quotient::report {
namespace {

using Json = nlohmann::ordered_json;

// Reads `json[key]` into `field` if it is present and not null. A value of another type throws an
// exception, which ReportFromJson turns into a status.
template <typename T>
void Read(const Json& json, const char* key, T* field) {
  if (const auto at = json.find(key); at != json.end() && !at->is_null()) *field = at->get<T>();
}

void Read(const Json& json, const char* key, std::optional<double>* field) {
  if (const auto at = json.find(key); at != json.end() && !at->is_null()) {
    *field = at->get<double>();
  }
}

void FromValue(const Json& json, Measured* measured) {
  Read(json, "median", &measured->median_us);
  Read(json, "p10", &measured->p10_us);
  Read(json, "p90", &measured->p90_us);
  Read(json, "runs", &measured->runs);
  Read(json, "disturbed", &measured->disturbed);
}

void FromValue(const Json& json, GraphFigures* figures) {
  Read(json, "nodes", &figures->nodes);
  Read(json, "predicted_us", &figures->predicted_us);
  if (json.contains("kernels")) {
    Read(json["kernels"], "measured", &figures->kernels.measured);
    Read(json["kernels"], "estimated", &figures->kernels.estimated);
  }
  if (json.contains("measured_us")) FromValue(json["measured_us"], &figures->measured);
  Read(json, "error_norm", &figures->measured.error_norm);
}

void FromValue(const Json& json, Recording* recorded) {
  Read(json, "device", &recorded->device);
  Read(json, "time", &recorded->time);
  Read(json, "engine", &recorded->engine);
}

void FromValue(const Json& json, PercentRange* range) {
  Read(json, "low", &range->low);
  Read(json, "high", &range->high);
}

void FromValue(const Json& json, Considered* considered) {
  std::string grounds;
  Read(json, "left_out", &considered->left_out);
  Read(json, "grounds", &grounds);
  considered->grounds = GroundsOfName(grounds).value_or(Grounds::kNotSure);
  Read(json, "predicted_percent", &considered->predicted_percent);
  if (json.contains("measured_percent") && !json["measured_percent"].is_null()) {
    FromValue(json["measured_percent"], &considered->measured_percent.emplace());
  }
  if (json.contains("cpu_time_percent") && !json["cpu_time_percent"].is_null()) {
    FromValue(json["cpu_time_percent"], &considered->cpu_time_percent.emplace());
  }
  Read(json, "pairs", &considered->pairs);
  Read(json, "expected_percent", &considered->expected_percent);
  Read(json, "probability", &considered->probability);
  Read(json, "taken", &considered->taken);
}

void FromValue(const Json& json, CheckedBinding* binding) {
  Read(json, "shapes", &binding->shapes);
  Read(json, "kind", &binding->kind);
  Read(json, "nodes", &binding->nodes);
  Read(json, "cut", &binding->cut);
}

void FromValue(const Json& json, Verification* verification) {
  Read(json, "passed", &verification->passed);
  Read(json, "max_relative_error", &verification->max_relative_error);
  Read(json, "tolerance", &verification->tolerance);
  Read(json, "inputs", &verification->inputs);
  if (json.contains("bindings")) {
    for (const Json& binding : json["bindings"].get<std::vector<Json>>()) {
      FromValue(binding, &verification->bindings.emplace_back());
    }
  }
  Read(json, "bindings_note", &verification->bindings_note);
}

void FromValue(const Json& json, SearchStep* step) {
  Read(json, "seconds", &step->seconds);
  Read(json, "simulations", &step->simulations);
  Read(json, "enode_cost_us", &step->cost_us);
}

void FromValue(const Json& json, SearchResumption* resumed) {
  Read(json, "times", &resumed->times);
  Read(json, "simulations", &resumed->simulations);
  Read(json, "seconds", &resumed->seconds);
}

void FromValue(const Json& json, SearchFigures* search) {
  Read(json, "strategy", &search->strategy);
  Read(json, "seconds", &search->seconds);
  Read(json, "grow_seconds", &search->grow_seconds);
  Read(json, "enodes", &search->enodes);
  Read(json, "eclasses", &search->eclasses);
  Read(json, "iterations", &search->iterations);
  Read(json, "stop_reason", &search->stop_reason);
  Read(json, "kernels_measured", &search->kernels_measured);
  Read(json, "simulations", &search->simulations);
  Read(json, "states", &search->states);
  if (json.contains("best_costs")) {
    for (const Json& step : json["best_costs"].get<std::vector<Json>>()) {
      FromValue(step, &search->best_costs.emplace_back());
    }
  }
  if (json.contains("resumed")) FromValue(json["resumed"], &search->resumed);
}

void FromValue(const Json& json, KernelTally* tally) {
  Read(json, "kernel", &tally->ops);
  Read(json, "count", &tally->count);
  Read(json, "us", &tally->us);
}

void FromValue(const Json& json, JournalEntry* entry) {
  Read(json, "rule", &entry->rule);
  Read(json, "site", &entry->site);
  Read(json, "before", &entry->before);
  Read(json, "after", &entry->after);
  Read(json, "steps", &entry->steps);
  Read(json, "values", &entry->values);
}

void FromValue(const Json& json, WhyNot* answer) {
  Read(json, "rule", &answer->rule);
  Read(json, "node", &answer->node);
  Read(json, "answer", &answer->answer);
  Read(json, "text", &answer->text);
  Read(json, "details", &answer->details);
  Read(json, "with_us", &answer->with_us);
  Read(json, "without_us", &answer->without_us);
}

void FromValue(const Json& json, NodeCost* node) {
  Read(json, "name", &node->name);
  Read(json, "op", &node->op);
  Read(json, "before_us", &node->before_us);
  Read(json, "after_us", &node->after_us);
  Read(json, "before_source", &node->before_source);
  Read(json, "after_source", &node->after_source);
  Read(json, "spread", &node->spread);
}

void FromValue(const Json& json, DrawnNode* node) {
  Read(json, "name", &node->name);
  Read(json, "op", &node->op);
  Read(json, "inputs", &node->inputs);
  Read(json, "changed", &node->changed);
  Read(json, "cost_us", &node->cost_us);
  Read(json, "estimated", &node->estimated);
}

// Declared because the lists of gains are lists of structs with lists.
void FromValue(const Json& json, RegionGain* region);
void FromValue(const Json& json, RuleGain* gain);
void FromValue(const Json& json, Gains* gains);

template <typename T>
void ReadStruct(const Json& json, const char* key, T* field) {
  if (json.contains(key)) FromValue(json[key], field);
}

template <typename T>
void ReadList(const Json& json, const char* key, std::vector<T>* items) {
  if (!json.contains(key)) return;
  // A value that is not an array throws an exception, as in Read.
  for (const Json& value : json[key].get<std::vector<Json>>()) {
    FromValue(value, &items->emplace_back());
  }
}

void FromValue(const Json& json, RegionGain* region) {
  ReadList(json, "before", &region->before);
  ReadList(json, "after", &region->after);
  Read(json, "sites", &region->sites);
}

void FromValue(const Json& json, RuleGain* gain) {
  Read(json, "rules", &gain->rules);
  Read(json, "estimated", &gain->estimated);
  ReadList(json, "regions", &gain->regions);
}

void ReadRules(const Json& json, std::map<std::string, RuleFigures>* rules) {
  if (!json.contains("rules")) return;
  for (const Json& value : json["rules"].get<std::vector<Json>>()) {
    std::string name;
    Read(value, "rule", &name);
    RuleFigures& figures = (*rules)[name];
    Read(value, "matches", &figures.matches);
    Read(value, "applied", &figures.applied);
    Read(value, "enodes", &figures.enodes);
    Read(value, "uses", &figures.uses);
    Read(value, "saved_us", &figures.saved_us);
    Read(value, "saved_alone_us", &figures.saved_alone_us);
  }
}

void FromValue(const Json& json, Gains* gains) {
  ReadList(json, "by_rules", &gains->by_rules);
  Read(json, "others_us", &gains->others_us);
}

Report FromValue(const Json& json) {
  Report report;
  std::string outcome;
  Read(json, "outcome", &outcome);
  report.outcome =
      outcome == OutcomeName(Outcome::kImproved) ? Outcome::kImproved : Outcome::kNoImprovement;
  Read(json, "passed_through", &report.passed_through);
  Read(json, "model", &report.model_name);
  Read(json, "engine", &report.engine_version);
  Read(json, "measured", &report.measured);
  if (json.contains("device")) {
    Read(json["device"], "name", &report.device);
    Read(json["device"], "fingerprint", &report.fingerprint);
    Read(json["device"], "threads", &report.threads);
    if (json["device"].contains("recorded") && !json["device"]["recorded"].is_null()) {
      FromValue(json["device"]["recorded"], &report.recorded.emplace());
    }
  }
  ReadStruct(json, "original", &report.original);
  ReadStruct(json, "optimized", &report.optimized);
  Read(json, "cut_nodes", &report.cut_nodes);
  Read(json, "cut_nodes_run", &report.cut_nodes_run);
  Read(json, "speedup_percent", &report.speedup_percent);
  Read(json, "predicted_speedup_percent", &report.predicted_speedup_percent);
  if (json.contains("speedup_interval_percent") && !json["speedup_interval_percent"].is_null()) {
    FromValue(json["speedup_interval_percent"], &report.speedup_interval.emplace());
  }
  ReadList(json, "considered", &report.considered);
  ReadStruct(json, "verification", &report.verification);
  ReadStruct(json, "search", &report.search);
  ReadStruct(json, "gains", &report.gains);
  ReadRules(json, &report.rules);
  ReadList(json, "journal", &report.journal);
  ReadList(json, "why_not", &report.why_not);
  if (json.contains("explanation") && !json["explanation"].is_null()) {
    FromValue(json["explanation"], &report.explanation.emplace());
  }
  ReadList(json, "nodes", &report.nodes);
  Read(json, "phase_seconds", &report.phase_seconds);
  Read(json, "notes", &report.notes);
  if (json.contains("drawing")) {
    ReadList(json["drawing"], "before", &report.drawn_before);
    ReadList(json["drawing"], "after", &report.drawn_after);
  }
  return report;
}

}  // namespace

absl::StatusOr<Report> ReportFromJson(absl::string_view text) {
  const Json json = Json::parse(text.data(), text.data() + text.size(), nullptr, false);
  if (!json.is_object()) return absl::InvalidArgumentError("not a report: no JSON object");
  try {
    return FromValue(json);
  } catch (const Json::exception& error) {
    return absl::InvalidArgumentError(absl::StrCat("not a report: ", error.what()));
  }
}

}  // namespace quotient::report
