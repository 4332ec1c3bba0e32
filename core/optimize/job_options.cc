#include "core/optimize/job_options.h"

#include <optional>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "core/base/log.h"
#include "core/base/reason.h"
#include "core/optimize/device_table.h"
#include "core/optimize/question.h"
#include "core/rules/rule_set.h"
#include "core/search/strategy.h"
#include "core/timing/snapshot.h"

namespace quotient::optimize {
namespace {

absl::Status Invalid(absl::string_view problem) {
  return MakeError(Reason::kOptionInvalid, problem);
}

absl::Status CheckDevice(const Options& options) {
  const std::string& device = options.device;
  if (FindDeviceKind(AllDeviceKinds(), device) != nullptr) return absl::OkStatus();
  if (const std::optional<BlobId> snapshot = SnapshotOf(device)) {
    if (snapshot->size_bytes <= timing::kMaxSnapshotBytes) return absl::OkStatus();
    return Invalid(absl::StrCat("device: a snapshot has at most ", timing::kMaxSnapshotBytes,
                                " bytes, not ", snapshot->size_bytes));
  }
  return Invalid(
      absl::StrCat("device: '", device, "' is not one of: ", AcceptedDevices(DeviceFilter::kAll)));
}

absl::Status CheckStrategy(const Options& options) {
  if (search::FindStrategy(options.strategy) != nullptr) return absl::OkStatus();
  return Invalid(absl::StrCat("strategy: '", options.strategy,
                              "' is not one of: ", absl::StrJoin(search::StrategyNames(), ", ")));
}

absl::Status CheckRules(const Options& options) {
  return rules::CheckDisabled(options.disabled_rules);
}

absl::Status CheckSearchBudget(const Options& options) {
  if (options.search_budget_seconds <= options.budget_seconds) return absl::OkStatus();
  return Invalid(absl::StrCat("search-budget: ", options.search_budget_seconds,
                              " seconds are more than the budget of ", options.budget_seconds,
                              " seconds, which bounds all phases"));
}

std::string StrategyHelp(const std::string& usual) {
  return absl::StrCat(
      "how the e-graph is grown: ",
      absl::StrJoin(search::StrategyNames(), ", ", [&](std::string* out, const std::string& name) {
        absl::StrAppend(out, name, name == usual ? " (default)" : "");
      }));
}

std::vector<JobOption> MakeRows() {
  const Options usual;
  return {
      {.field = &Options::device,
       .key = "device",
       .flag = "device",
       .placeholder = "NAME",
       .help = absl::StrCat("what to optimize for, default ", usual.device, ":\n",
                            DevicesHelp(DeviceFilter::kAll)),
       .choices = DeviceNames(DeviceFilter::kAll),
       .is_of_running = true,
       .check = CheckDevice},
      {.field = &Options::strategy,
       .key = "strategy",
       .flag = "strategy",
       .placeholder = "NAME",
       .help = StrategyHelp(usual.strategy),
       .choices = search::StrategyNames(),
       .check = CheckStrategy},
      {.field = &Options::budget_seconds,
       .key = "budget",
       .wire_name = "budget_seconds",
       .flag = "budget",
       .placeholder = "TIME",
       .help = absl::StrCat(
           "bound of everything from reading to the report, e.g. 30s or 2m, default ",
           usual.budget_seconds,
           "s; of that a model that is run gets what a thousand or so of its runs take, or "
           "8.5s if that is more; what has been begun is ended, and a result is always checked"),
       .least = 0,
       .most = 86'400,
       .unit = " seconds"},
      {.field = &Options::search_budget_seconds,
       .key = "search_budget",
       .wire_name = "search_budget_seconds",
       .flag = "search-budget",
       .placeholder = "TIME",
       .help = absl::StrCat("bound of the search alone, within --budget, default ",
                            usual.search_budget_seconds, "; 0: its usual share"),
       .least = 0,
       .most = 86'400,
       .unit = " seconds",
       .check = CheckSearchBudget},
      {.field = &Options::max_nodes,
       .key = "max_nodes",
       .flag = "max-nodes",
       .placeholder = "N",
       .help = absl::StrCat("stop growing the e-graph at so many e-nodes, default ",
                            usual.max_nodes, "; the model may have more"),
       .least = 1,
       .most = 10'000'000},
      {.field = &Options::max_simulations,
       .key = "max_simulations",
       .flag = "simulations",
       .placeholder = "N",
       .help = absl::StrCat(
           "the search ends with the batch of simulations in which it comes to so many; where "
           "nothing is measured, one that ends by it gives the same result on every machine; "
           "default ",
           usual.max_simulations, "; 0: no such bound"),
       .least = 0,
       .most = 1'000'000'000},
      {.field = &Options::threads,
       .key = "threads",
       .flag = "threads",
       .placeholder = "N",
       .help = absl::StrCat("threads for kernels, checking and measuring, default ", usual.threads,
                            ": one per core, at most 16"),
       .least = 0,
       .most = 256,
       .is_of_running = true,
       .is_of_checking = true},
      {.field = &Options::seed,
       .key = "seed",
       .flag = "seed",
       .placeholder = "N",
       .help = absl::StrCat("seed of everything random, default ", usual.seed),
       .is_of_running = true,
       .is_of_checking = true},
      {.field = &Options::max_opset,
       .key = "max_opset",
       .flag = "max-opset",
       .placeholder = "N",
       .help = absl::StrCat("newest opset the result may need, at least the model's own; default ",
                            usual.max_opset, ": the model's own or 20 (simplify: its own)"),
       .least = 0,
       .most = 1000,
       .is_of_simplifying = true},
      {.field = &Options::assume_finite_inputs,
       .key = "assume_finite_inputs",
       .flag = "assume-finite-inputs",
       .help = "float inputs hold no NaN, no infinity and nothing beyond 1e6; guards that then "
               "never act go",
       .is_of_checking = true},
      {.field = &Options::verify_inputs,
       .key = "verify_inputs",
       .flag = "verify-inputs",
       .placeholder = "N",
       .help = absl::StrCat(
           "sets of random inputs that results are compared on at the dims of measuring, "
           "default ",
           usual.verify_inputs, "; some more at other dims"),
       .least = 1,
       .most = 100,
       .is_of_checking = true},
      {.field = &Options::shapes,
       .key = "shapes",
       .flag = "shape",
       .placeholder = "NAME=DIMS",
       .help = "bind an input's shape for good, e.g. input=1,3,224,224",
       .is_of_running = true,
       .is_of_checking = true},
      {.field = &Options::measure_shapes,
       .key = "measure_shapes",
       .flag = "measure-shape",
       .placeholder = "NAME=DIMS",
       .help = "bind an input's shape for measuring and checking only",
       .is_of_running = true,
       .is_of_checking = true},
      {.field = &Options::freeze_initializers,
       .key = "freeze_initializers",
       .flag = "freeze-initializers",
       .help = "initializers that are inputs, too, become constants; the result has no such inputs",
       .is_of_running = true,
       .is_of_checking = true},
      {.field = &Options::disabled_rules,
       .key = "disabled_rules",
       .flag = "disable-rule",
       .placeholder = "NAME",
       .help = "do without this rule, by the name that reports show",
       .is_of_simplifying = true,
       .check = CheckRules},
      {.field = &Options::why_not,
       .key = "why_not",
       .flag = "why-not",
       .placeholder = "RULE@NODE",
       .help = "say why what this rule makes at this node (or at the node of this value) is not in "
               "the result; takes up to a tenth of the budget, and 2s at most",
       .is_of_report = true,
       .check = [](const Options& options) { return CheckQuestions(options.why_not); }},
      {.field = &Options::kept_values,
       .key = "kept_values",
       .flag = "keep",
       .placeholder = "NAME",
       .help = "the result still computes the value of this name",
       .is_of_simplifying = true},
      {.field = &Options::max_folded_bytes,
       .key = "max_folded_bytes",
       .flag = "max-bytes-folded",
       .placeholder = "N",
       .help = absl::StrCat("a constant that is computed beforehand has at most so many bytes, or "
                            "as many as what it is computed from; default ",
                            usual.max_folded_bytes),
       .least = 0,
       .most = int64_t{1} << 40,
       .is_of_simplifying = true},
  };
}

// --- Set writes a value that is given as text, by the type of its field.

absl::Status Set(absl::string_view, bool* field) {
  *field = true;
  return absl::OkStatus();
}

template <typename Integer>
absl::Status Set(absl::string_view text, Integer* field) {
  if (absl::SimpleAtoi(text, field)) return absl::OkStatus();
  return Invalid(absl::StrCat("'", Escaped(text), "' is not a whole number in range"));
}

absl::Status Set(absl::string_view text, double* field) { return ParseDuration(text, field); }

absl::Status Set(absl::string_view text, std::string* field) {
  if (text.empty()) return Invalid("is empty");
  *field = std::string(text);
  return absl::OkStatus();
}

absl::Status Set(absl::string_view text, Shapes* field) { return ParseShapeOption(text, field); }

absl::Status Set(absl::string_view text, Words* field) { return Set(text, &field->emplace_back()); }

}  // namespace

std::span<const JobOption> JobOptions() {
  static const auto& rows = *new std::vector<JobOption>(MakeRows());
  return rows;
}

absl::Status SetFromText(const JobOption& option, absl::string_view text, Options* options) {
  return std::visit([&](auto field) { return Set(text, &(options->*field)); }, option.field);
}

}  // namespace quotient::optimize
