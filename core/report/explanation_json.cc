// An explanation as JSON: the part of the report's, which is read back, and what `quotient explain`
// prints for programs. The order of the keys here is their order in the file.

#include <nlohmann/json.hpp>

#include "core/kernels/device_name.h"
#include "core/report/explanation.h"
#include "core/report/report.h"

namespace quotient::report {
namespace {

using Json = nlohmann::ordered_json;

Json ToValue(const FusedKernels& fused) {
  return {{"operators", fused.operators},
          {"kernel", fused.kernel},
          {"places", fused.places},
          {"us", fused.us},
          {"estimated", fused.estimated}};
}

Json ToValue(const WhatWasDone& done) {
  return {{"remedy", std::string(RemedyName(done.remedy))},
          {"rules", done.rules},
          {"saved_us", done.saved_us}};
}

Json ToValue(const MissedFusion& missed) {
  return {{"what", missed.what},         {"reason", missed.reason}, {"text", missed.text},
          {"sites", missed.sites},       {"us", missed.us},         {"estimated", missed.estimated},
          {"done", ToValue(missed.done)}};
}

Json ToValue(const RuntimeRewrite& rewrite) {
  return {{"rule", rewrite.rule}, {"places", rewrite.places}};
}

Json ToValue(const Bandwidth& bandwidth) {
  return {{"bytes", bandwidth.bytes}, {"bytes_per_us", bandwidth.bytes_per_us}};
}

Json ToValue(const KernelsBelowPeak& kernels) {
  return {{"kernel", kernels.kernel},
          {"operands", kernels.operands},
          {"site", kernels.site},
          {"places", kernels.places},
          {"us", kernels.us},
          {"at_peak_us", kernels.at_peak_us},
          {"share_of_peak", kernels.share()},
          {"bound", kernels.bound},
          {"estimated", kernels.estimated},
          {"done", ToValue(kernels.done)}};
}

Json ToValue(const TimeShares& shares) {
  return {{"us", shares.us},
          {"products_us", shares.products_us},
          {"products_at_peak_us", shares.products_at_peak_us},
          {"missed_us", shares.missed_us}};
}

template <typename T>
Json ToList(const std::vector<T>& items) {
  Json list = Json::array();
  for (const T& item : items) list.push_back(ToValue(item));
  return list;
}

Json ToValue(const std::optional<Peak>& peak) {
  if (!peak.has_value()) return nullptr;
  return {{"operations_per_us", peak->operations_per_us},
          {"bandwidth", ToList(peak->bandwidth)},
          {"start_us", peak->start_us}};
}

template <typename T>
void Read(const Json& json, const char* key, T* field) {
  if (const auto at = json.find(key); at != json.end() && !at->is_null()) *field = at->get<T>();
}

void FromValue(const Json& json, FusedKernels* fused) {
  Read(json, "operators", &fused->operators);
  Read(json, "kernel", &fused->kernel);
  Read(json, "places", &fused->places);
  Read(json, "us", &fused->us);
  Read(json, "estimated", &fused->estimated);
}

Remedy RemedyOfName(absl::string_view name) {
  for (const Remedy remedy : {Remedy::kTried, Remedy::kRewritten}) {
    if (name == RemedyName(remedy)) return remedy;
  }
  return Remedy::kNone;
}

void FromValue(const Json& json, WhatWasDone* done) {
  std::string remedy;
  Read(json, "remedy", &remedy);
  done->remedy = RemedyOfName(remedy);
  Read(json, "rules", &done->rules);
  Read(json, "saved_us", &done->saved_us);
}

void ReadDone(const Json& json, WhatWasDone* done) {
  if (json.contains("done")) FromValue(json["done"], done);
}

void FromValue(const Json& json, MissedFusion* missed) {
  Read(json, "what", &missed->what);
  Read(json, "reason", &missed->reason);
  Read(json, "text", &missed->text);
  Read(json, "sites", &missed->sites);
  Read(json, "us", &missed->us);
  Read(json, "estimated", &missed->estimated);
  ReadDone(json, &missed->done);
}

void FromValue(const Json& json, RuntimeRewrite* rewrite) {
  Read(json, "rule", &rewrite->rule);
  Read(json, "places", &rewrite->places);
}

void FromValue(const Json& json, Bandwidth* bandwidth) {
  Read(json, "bytes", &bandwidth->bytes);
  Read(json, "bytes_per_us", &bandwidth->bytes_per_us);
}

void FromValue(const Json& json, KernelsBelowPeak* kernels) {
  Read(json, "kernel", &kernels->kernel);
  Read(json, "operands", &kernels->operands);
  Read(json, "site", &kernels->site);
  Read(json, "places", &kernels->places);
  Read(json, "us", &kernels->us);
  Read(json, "at_peak_us", &kernels->at_peak_us);
  Read(json, "bound", &kernels->bound);
  Read(json, "estimated", &kernels->estimated);
  ReadDone(json, &kernels->done);
}

void FromValue(const Json& json, TimeShares* shares) {
  Read(json, "us", &shares->us);
  Read(json, "products_us", &shares->products_us);
  Read(json, "products_at_peak_us", &shares->products_at_peak_us);
  Read(json, "missed_us", &shares->missed_us);
}

template <typename T>
void ReadList(const Json& json, const char* key, std::vector<T>* items) {
  if (!json.contains(key)) return;
  for (const Json& value : json[key].get<std::vector<Json>>()) {
    FromValue(value, &items->emplace_back());
  }
}

void FromValue(const Json& json, Peak* peak) {
  Read(json, "operations_per_us", &peak->operations_per_us);
  ReadList(json, "bandwidth", &peak->bandwidth);
  Read(json, "start_us", &peak->start_us);
}

}  // namespace

Json ToValue(const Explanation& explanation) {
  return {{"verdict", std::string(ProspectName(ProspectOf(explanation)))},
          {"verdict_text", VerdictText(explanation)},
          {"original", ToValue(explanation.original)},
          {"result", ToValue(explanation.result)},
          {"missed", ToList(explanation.missed)},
          {"below_peak", ToList(explanation.below_peak)},
          {"fused", ToList(explanation.fused)},
          {"by_runtime", ToList(explanation.by_runtime)},
          {"peak", ToValue(explanation.peak)}};
}

// The verdict follows from the rest.
void FromValue(const Json& json, Explanation* explanation) {
  if (json.contains("original")) FromValue(json["original"], &explanation->original);
  if (json.contains("result")) FromValue(json["result"], &explanation->result);
  ReadList(json, "missed", &explanation->missed);
  ReadList(json, "below_peak", &explanation->below_peak);
  ReadList(json, "fused", &explanation->fused);
  ReadList(json, "by_runtime", &explanation->by_runtime);
  if (json.contains("peak") && !json["peak"].is_null()) {
    FromValue(json["peak"], &explanation->peak.emplace());
  }
}

std::string ExplanationJson(const Report& report) {
  const kernels::DeviceDescription device = kernels::DescribeDevice(report.fingerprint);
  const auto if_known = [](const std::optional<double>& value) {
    return value ? Json(*value) : Json(nullptr);
  };
  const Json json = {
      {"model", report.model_name},
      {"engine", report.engine_version},
      {"device",
       {{"name", report.device},
        {"hardware", device.hardware},
        {"library", device.library},
        {"threads", report.threads}}},
      {"outcome", std::string(OutcomeName(report.outcome))},
      {"speedup_percent", report.knows_speedup() ? Json(report.speedup_percent) : Json(nullptr)},
      {"predicted_speedup_percent", if_known(report.predicted_speedup_percent)},
      {"explanation", report.explanation ? ToValue(*report.explanation) : Json(nullptr)},
      {"notes", report.notes}};
  return json.dump(1, ' ', false, Json::error_handler_t::replace) + "\n";
}

}  // namespace quotient::report
