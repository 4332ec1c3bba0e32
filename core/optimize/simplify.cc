#include "core/optimize/simplify.h"

#include <algorithm>
#include <iterator>
#include <memory>
#include <optional>
#include <utility>
#include <variant>
#include <vector>

#include "absl/strings/str_cat.h"
#include "core/base/reason.h"
#include "core/base/status_macros.h"
#include "core/cost/cost_model.h"
#include "core/cost/data_sheets.h"
#include "core/kernels/partition.h"
#include "core/optimize/baseline.h"
#include "core/optimize/candidates.h"
#include "core/optimize/footprint.h"
#include "core/optimize/memory.h"
#include "core/optimize/package.h"
#include "core/optimize/prepared.h"
#include "core/optimize/verified.h"
#include "core/rules/simplifying.h"
#include "core/verify/checker.h"

namespace quotient::optimize {
namespace {

// More than a kernel costs, so that the number of operators comes before the work that they do.
constexpr double kOperatorUs = 1e6;
// Of kernels that cost about the same, those of the original stay.
constexpr double kSurcharge = 0.01;
// The rules that simplify make few e-nodes, so that a search ends long before it has so many, or
// has taken so long.
constexpr int64_t kMostENodes = 200'000;
constexpr SearchTime kSearchTime = {.grow_seconds = 60, .seconds = 120};

// Nothing is timed, so open sizes need not be those of real use. Sets of inputs of a transformer
// then take a tenth of a second each to evaluate.
constexpr double kMostOperationsHere = 1e9;

int64_t TotalBytes(const ModelFiles& files) {
  auto bytes = static_cast<int64_t>(files.model.size());
  for (const auto& [location, data] : files.external_data) {
    bytes += static_cast<int64_t>(data.size());
  }
  return bytes;
}

// Who wants a newer opset says so: 0 would stand for one that models are optimized with.
Options WithOwnOpset(Options options) {
  options.max_opset = std::max(options.max_opset, 1);
  return options;
}

class Simplifier {
 public:
  Simplifier(const ModelFiles& files, const Options& options, const std::string& external_location,
             const Clock& clock, const StopCondition& stop)
      : files_(files),
        options_(WithOwnOpset(options)),
        external_location_(external_location),
        threads_(options.ThreadsToUse()),
        clock_(clock),
        stop_(stop) {}

  absl::StatusOr<Simplified> Run() {
    const int64_t start_ns = clock_.NowNs();
    report_.model_name = files_.name;
    report_.before.bytes = TotalBytes(files_);
    const std::variant<Prepared, Unprepared> read = PrepareOrDescribe(
        files_, options_, threads_, stop_, {.most_operations = kMostOperationsHere});
    QUOTIENT_ASSIGN_OR_RETURN(std::optional<Delivery> delivery, OrUntouched(Simplest(read)));
    Simplified simplified;
    if (delivery.has_value()) {
      report_.is_simplified = true;
      report_.after.operators = delivery->model.op_counts;
      report_.after.bytes =
          static_cast<int64_t>(delivery->files.model.size() + delivery->files.external_data.size());
      simplified.files = std::move(delivery->files);
    } else {
      report_.after = report_.before;
      report_.verification = {};
      report_.is_same_graph = false;
      simplified.files.model = std::string(files_.model);
    }
    report_.seconds = clock_.SecondsSince(start_ns);
    simplified.report = std::move(report_);
    return simplified;
  }

 private:
  using MaybeDelivery = absl::StatusOr<std::optional<Delivery>>;

  // A harmless error is a note, and the model stays as it is.
  MaybeDelivery OrUntouched(MaybeDelivery delivery) {
    const absl::Status why = delivery.status();
    if (why.ok() || !IsHarmless(why)) return delivery;
    report_.notes.push_back(absl::StrCat("the model came back untouched (",
                                         ReasonName(*GetReason(why)), "): ", why.message()));
    return std::nullopt;
  }

  // Nullopt if the model stays as it is.
  MaybeDelivery Simplest(const std::variant<Prepared, Unprepared>& read) {
    if (const Unprepared* const unprepared = std::get_if<Unprepared>(&read)) {
      report_.before.operators = unprepared->model.op_counts;
      return unprepared->why;
    }
    original_ = &std::get<Prepared>(read);
    report_.before.operators = original_->model.op_counts;
    QUOTIENT_RETURN_IF_ERROR(
        CheckFits(original_->cut.graph, options_.verify_inputs, /*candidates=*/1));
    QUOTIENT_ASSIGN_OR_RETURN(std::optional<Delivery> simplest, SimplestOf(*original_));
    if (simplest.has_value() || !breaks_names_) return simplest;
    Options options = options_;
    options.measure_shapes = original_->shapes.shapes;
    QUOTIENT_ASSIGN_OR_RETURN(Prepared without_names, Prepare(files_, options, threads_, stop_,
                                                              {.names = InputNames::kForgotten}));
    return SimplestOf(without_names);
  }

  // --- The check ---

  // Returns false, with a note, if it does not agree.
  absl::StatusOr<bool> Agrees(const Packaged& packaged) {
    const int64_t start_ns = clock_.NowNs();
    if (!checker_.has_value()) QUOTIENT_RETURN_IF_ERROR(MakeChecker());
    QUOTIENT_ASSIGN_OR_RETURN(
        const verify::Verdict verdict,
        checker_->Check({&packaged.prepared.model.graph, &packaged.prepared.cut}, stop_));
    report_.check_seconds += clock_.SecondsSince(start_ns);
    report_.verification = VerificationOf(*checker_, verdict);
    if (verdict.passed) return true;
    breaks_names_ |= verdict.breaks_names;
    report_.notes.push_back(absl::StrCat(
        "a graph was refused, which does not agree with the model: ", verdict.failure));
    return false;
  }

  absl::Status MakeChecker() {
    as_read_ = AsRead(*original_, options_.shapes);
    absl::StatusOr<verify::Checker> checker = verify::Checker::Create(
        {&as_read_, &original_->cut}, original_->shapes.shapes,
        {options_.verify_inputs, options_.seed, threads_, options_.assume_finite_inputs}, stop_);
    if (checker.ok()) {
      checker_ = *std::move(checker);
      return absl::OkStatus();
    }
    if (stop_.ShouldStop()) return checker.status();
    return MakeError(Reason::kModelUnsupported,
                     absl::StrCat("it cannot be evaluated on random inputs so that outputs could "
                                  "be compared: ",
                                  checker.status().message()));
  }

  // Whether the candidate is the model itself, node for node, so that there is nothing to compare.
  absl::StatusOr<bool> IsSameGraph(const Prepared& from, const Packaged& packaged) {
    if (from.model.graph.nodes.size() != packaged.prepared.model.graph.nodes.size()) return false;
    QUOTIENT_ASSIGN_OR_RETURN(
        const Prepared unfolded,
        PrepareResult({files_.model, files_.external_data, nullptr}, from.shapes, threads_, stop_,
                      {.freeze_initializers = options_.freeze_initializers,
                       .kept_values = options_.kept_values}));
    return model::GraphDigest(unfolded.graph) == model::GraphDigest(packaged.prepared.graph);
  }

  // --- The graphs ---

  MaybeDelivery SimplestOf(const Prepared& from) {
    QUOTIENT_ASSIGN_OR_RETURN(std::optional<Candidate> rewritten, Rewritten(from));
    if (rewritten.has_value()) {
      QUOTIENT_ASSIGN_OR_RETURN(std::optional<Delivery> delivery,
                                DeliverIfGood(from, *std::move(rewritten)));
      if (delivery.has_value()) return delivery;
    }
    QUOTIENT_ASSIGN_OR_RETURN(Candidate folded, Unrewritten(from.graph, from.measured,
                                                            options_.Folding(threads_), stop_));
    return DeliverIfGood(from, std::move(folded));
  }

  // Nullopt if no rule has simplified anything.
  absl::StatusOr<std::optional<Candidate>> Rewritten(const Prepared& from) {
    Options options = options_;
    options.strategy = "saturate";
    options.max_nodes = kMostENodes;
    std::ranges::move(rules::RulesThatMayLose(), std::back_inserter(options.disabled_rules));
    const SearchSettings settings = {
        .clock = clock_,
        .time = kSearchTime,
        .threads = threads_,
        .max_opset = MaxOpset(options_, from.model),
        .constant_footprint_log2 =
            kernels::ConstantFootprintLog2(from.cut.graph, costs_->partition().storage),
        .surcharge = kSurcharge,
        .operator_us = kOperatorUs,
    };
    QUOTIENT_ASSIGN_OR_RETURN(Candidates candidates,
                              Search(from.graph, from.measured, options, settings, *costs_, stop_,
                                     [](const SearchProgress&) {}));
    if (candidates.found.empty()) return std::nullopt;
    return std::move(candidates.found.front());
  }

  // Nullopt if the candidate does more work than the original, or does not agree with it.
  MaybeDelivery DeliverIfGood(const Prepared& from, Candidate candidate) {
    const PackageSettings settings = {.max_opset = MaxOpset(options_, from.model),
                                      .external_location = external_location_,
                                      .bind_types = !options_.shapes.empty(),
                                      .annotate_types = true,
                                      .constants_as_initializers = true,
                                      .kept_values = options_.kept_values,
                                      .threads = threads_};
    QUOTIENT_ASSIGN_OR_RETURN(const Packaged packaged, Package(from, std::move(candidate), settings,
                                                               *costs_, {stop_, stop_}));
    QUOTIENT_ASSIGN_OR_RETURN(const cost::GraphCost before,
                              cost::PredictGraph(from.cut.graph, *costs_, stop_));
    constexpr double kRounding = 1e-9;
    if (packaged.cost.total_us > before.total_us * (1 + kRounding)) {
      report_.notes.emplace_back(
          "a graph with fewer operators was not taken, as it does more work");
      return std::nullopt;
    }
    QUOTIENT_ASSIGN_OR_RETURN(report_.is_same_graph, IsSameGraph(from, packaged));
    if (!report_.is_same_graph) {
      QUOTIENT_ASSIGN_OR_RETURN(const bool agrees, Agrees(packaged));
      if (!agrees) return std::nullopt;
    }
    for (const report::JournalEntry& entry : packaged.journal) ++report_.rules[entry.rule];
    QUOTIENT_ASSIGN_OR_RETURN(Delivery delivery, Deliver(from, packaged, settings));
    return delivery;
  }

  const ModelFiles& files_;
  const Options options_;
  const std::string& external_location_;
  const int threads_;
  const Clock& clock_;
  const StopCondition& stop_;
  // What kernels take on an ordinary processor, which is never asked.
  const std::unique_ptr<cost::CostModel> costs_ = cost::NewAnalyticCostModel(cost::CpuSheet());
  const Prepared* original_ = nullptr;  // What the checker compares with.
  model::Graph as_read_;
  std::optional<verify::Checker> checker_;
  bool breaks_names_ = false;  // Whether a graph differs where sizes of one name do.
  report::Simplification report_;
};

}  // namespace

absl::StatusOr<Simplified> Simplify(const ModelFiles& files, const Options& options,
                                    const std::string& external_location, const Clock& clock,
                                    const StopCondition& stop) {
  QUOTIENT_RETURN_IF_ERROR(options.Validate());
  return WithinMemory(
      [&] { return Simplifier(files, options, external_location, clock, stop).Run(); },
      []() -> absl::StatusOr<Simplified> {
        return MakeError(Reason::kModelUnsupported, "no memory is left");
      });
}

}  // namespace quotient::optimize
