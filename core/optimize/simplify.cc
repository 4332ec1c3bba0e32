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
#include "core/ops/infer_graph.h"
#include "core/optimize/baseline.h"
#include "core/optimize/candidates.h"
#include "core/optimize/footprint.h"
#include "core/optimize/memory.h"
#include "core/optimize/notes.h"
#include "core/optimize/package.h"
#include "core/optimize/prepared.h"
#include "core/optimize/verified.h"
#include "core/rules/simplifying.h"
#include "core/verify/checker.h"

namespace quotient::optimize {
namespace {

// What an operator costs beside its kernel. The first is more than any kernel, so that the number
// of operators comes before the work that they do. If that graph does more work than the model,
// work comes first.
constexpr double kOperatorUs[] = {1e6, 1e-3};
// A search ends at so many e-nodes. Networks saturate with fewer, and long chains of constants, of
// which each part can be combined with each, become shorter each time they are searched.
int64_t MostENodes(const model::Graph& graph) {
  return 2000 + 20 * static_cast<int64_t>(graph.nodes.size());
}
constexpr int kMostSearches = 8;
// Nothing is timed, so open sizes need not be those of real use. A transformer's sets of inputs
// then take a tenth of a second each to evaluate.
constexpr double kMostOperationsHere = 1e9;

int64_t TotalBytes(const ModelFiles& files) {
  auto bytes = static_cast<int64_t>(files.model.size());
  for (const auto& [location, data] : files.external_data) {
    bytes += static_cast<int64_t>(data.size());
  }
  return bytes;
}

class Simplifier {
 public:
  Simplifier(const ModelFiles& files, const Options& options, const std::string& external_location,
             const Clock& clock, const StopCondition& stop)
      : files_(files),
        options_(options),
        external_location_(external_location),
        threads_(options.ThreadsToUse()),
        clock_(clock),
        stop_(stop) {}

  absl::StatusOr<Simplified> Run() {
    report_.model_name = files_.name;
    report_.before.bytes = TotalBytes(files_);
    const std::variant<Prepared, Unprepared> read = PrepareOrDescribe(
        files_, options_, threads_, stop_, {.most_operations = kMostOperationsHere});
    QUOTIENT_ASSIGN_OR_RETURN(std::optional<Delivery> delivery,
                              OrUntouched(WithinMemory([&] { return Simplest(read); },
                                                       []() -> MaybeDelivery {
                                                         return MakeError(Reason::kModelUnsupported,
                                                                          "no memory is left");
                                                       })));
    return Finished(std::move(delivery));
  }

 private:
  // Nullopt if the model, or the graph in question, is not taken.
  using MaybeDelivery = absl::StatusOr<std::optional<Delivery>>;

  // --- From the model to the report ---

  // A harmless error is a note, and the model stays as it is.
  MaybeDelivery OrUntouched(MaybeDelivery delivery) {
    const absl::Status why = delivery.status();
    if (why.ok() || !IsHarmless(why)) return delivery;
    refusals_.push_back(absl::StrCat("the model came back untouched (", ReasonName(*GetReason(why)),
                                     "): ", why.message()));
    return std::nullopt;
  }

  MaybeDelivery Simplest(const std::variant<Prepared, Unprepared>& read) {
    if (const Unprepared* const unprepared = std::get_if<Unprepared>(&read)) {
      report_.before.operators = unprepared->model.op_counts;
      return unprepared->why;
    }
    original_ = &std::get<Prepared>(read);
    report_.before.operators = original_->model.op_counts;
    // Who wants a newer opset says so: 0 would stand for one that models are optimized with.
    if (options_.max_opset == 0) options_.max_opset = std::max(1, original_->model.opset);
    report_.notes = NotesOnReading(*original_, options_, /*run_with_cut_nodes=*/false);
    QUOTIENT_RETURN_IF_ERROR(
        CheckFits(original_->cut.graph, LoadOf(files_, original_->cut.graph, RunBy::kNothing,
                                               options_.verify_inputs, /*candidates=*/2)));
    QUOTIENT_ASSIGN_OR_RETURN(const cost::GraphCost cost,
                              cost::PredictGraph(original_->cut.graph, *costs_, stop_));
    original_us_ = cost.total_us;
    QUOTIENT_ASSIGN_OR_RETURN(std::optional<Delivery> simplest, SimplestOf(*original_));
    if (simplest.has_value() || !breaks_names_) return simplest;
    return SimplestWithoutNames();
  }

  MaybeDelivery SimplestWithoutNames() {
    Options options = options_;
    options.measure_shapes = original_->shapes.shapes;
    QUOTIENT_ASSIGN_OR_RETURN(
        const Prepared without_names,
        Prepare(files_, options, threads_, stop_,
                {.names = InputNames::kForgotten, .most_operations = kMostOperationsHere}));
    QUOTIENT_ASSIGN_OR_RETURN(std::optional<Delivery> simplest, SimplestOf(without_names));
    if (simplest.has_value()) {
      refusals_ = {
          "the model runs with different sizes of one name, so nothing was concluded from "
          "names of dimensions"};
    }
    return simplest;
  }

  Simplified Finished(std::optional<Delivery> delivery) {
    std::ranges::move(refusals_, std::back_inserter(report_.notes));
    Simplified simplified;
    if (delivery.has_value()) {
      std::ranges::move(NotesOnObjections(original_->model, &delivery->model),
                        std::back_inserter(report_.notes));
      report_.is_simplified = delivery->files.model != files_.model;
      report_.after.operators = delivery->model.op_counts;
      report_.after.bytes =
          static_cast<int64_t>(delivery->files.model.size() + delivery->files.external_data.size());
      simplified.files = std::move(delivery->files);
    } else {
      report_.after = report_.before;
      simplified.files.model = std::string(files_.model);
    }
    report_.seconds = clock_.SecondsSince(start_ns_);
    simplified.report = std::move(report_);
    return simplified;
  }

  // --- The graphs ---

  MaybeDelivery SimplestOf(const Prepared& from) {
    for (const double operator_us : kOperatorUs) {
      QUOTIENT_ASSIGN_OR_RETURN(std::optional<Candidate> rewritten, Rewritten(from, operator_us));
      if (!rewritten.has_value()) return Folded(from);
      QUOTIENT_ASSIGN_OR_RETURN(const std::optional<Packaged> packaged,
                                Packed(from, *std::move(rewritten)));
      if (!packaged.has_value()) return Folded(from);
      if (DoesMore(*packaged)) continue;
      QUOTIENT_ASSIGN_OR_RETURN(std::optional<Delivery> delivery, DeliverIfSame(from, *packaged));
      return delivery.has_value() ? std::move(delivery) : Folded(from);
    }
    refusals_.emplace_back("no rewritten graph was taken, as all of them do more work");
    return Folded(from);
  }

  // The graph in which no rule was applied.
  MaybeDelivery Folded(const Prepared& from) {
    QUOTIENT_ASSIGN_OR_RETURN(Candidate folded, Unrewritten(from.graph, from.measured,
                                                            options_.Folding(threads_), stop_));
    QUOTIENT_ASSIGN_OR_RETURN(const std::optional<Packaged> packaged,
                              Packed(from, std::move(folded)));
    if (!packaged.has_value()) return std::nullopt;
    if (HasMoreOperators(*packaged)) {
      refusals_.emplace_back("the model came back untouched, as anything else has more operators");
      return std::nullopt;
    }
    return DeliverIfSame(from, *packaged);
  }

  // Nullopt if no rule has simplified anything. What a search has simplified is searched again.
  absl::StatusOr<std::optional<Candidate>> Rewritten(const Prepared& from, double operator_us) {
    std::optional<Candidate> simplest;
    bool was_cut_short = true;
    absl::StatusOr<model::Graph> measured = from.measured;
    for (int search = 0; was_cut_short && measured.ok() && search < kMostSearches; ++search) {
      const model::Graph& graph = simplest.has_value() ? simplest->graph : from.graph;
      QUOTIENT_ASSIGN_OR_RETURN(Candidates candidates,
                                SearchOnce(from, graph, *measured, operator_us));
      was_cut_short = candidates.was_cut_short ||
                      candidates.figures.stop_reason != StopReasonName(StopReason::kSaturated);
      if (candidates.found.empty()) break;
      Candidate& found = candidates.found.front();
      if (simplest.has_value()) {
        if (found.graph.nodes.size() >= simplest->graph.nodes.size()) break;
        found.journal.insert(found.journal.begin(), simplest->journal.begin(),
                             simplest->journal.end());
      }
      simplest = std::move(found);
      simplest->chosen_from.reset();  // The e-graph is not needed any more.
      measured = ops::BindShapes(simplest->graph, from.shapes.shapes);
    }
    if (was_cut_short) {
      refusals_.emplace_back("there may be a smaller graph: not all were looked at");
    }
    return simplest;
  }

  absl::StatusOr<Candidates> SearchOnce(const Prepared& from, const model::Graph& graph,
                                        const model::Graph& measured, double operator_us) {
    Options options = options_;
    options.strategy = "saturate";
    options.max_nodes = MostENodes(graph);
    std::ranges::move(rules::RulesThatMayLose(), std::back_inserter(options.disabled_rules));
    const SearchSettings settings = {
        .clock = clock_,
        .time = std::nullopt,
        .threads = threads_,
        .max_opset = MaxOpset(options_, from.model),
        .constant_footprint_log2 =
            kernels::ConstantFootprintLog2(from.cut.graph, costs_->partition().storage),
        .operator_us = operator_us,
    };
    return Search(graph, measured, options, settings, *costs_, stop_, [](const SearchProgress&) {});
  }

  PackageSettings SettingsToWrite() const {
    return {.max_opset = MaxOpset(options_, original_->model),
            .external_location = external_location_,
            .bind_types = !options_.shapes.empty(),
            .annotate_types = true,
            .constants_as_initializers = true,
            .kept_values = options_.kept_values,
            .threads = threads_};
  }

  // Nullopt, with a note, if the graph cannot be written.
  absl::StatusOr<std::optional<Packaged>> Packed(const Prepared& from, Candidate candidate) {
    absl::StatusOr<Packaged> packaged =
        Package(from, std::move(candidate), SettingsToWrite(), *costs_, {stop_, stop_});
    if (packaged.ok()) return *std::move(packaged);
    if (stop_.ShouldStop()) return packaged.status();
    refusals_.push_back(
        absl::StrCat("a graph could not be written: ", packaged.status().message()));
    return std::nullopt;
  }

  // Whether the graph has more operators than the original, or is predicted to take longer.
  bool DoesMore(const Packaged& packaged) const {
    constexpr double kRounding = 1e-9;
    return packaged.cost.total_us > original_us_ * (1 + kRounding) || HasMoreOperators(packaged);
  }

  // What is kept although it is a constant takes an operator.
  bool HasMoreOperators(const Packaged& packaged) const {
    return std::ssize(packaged.prepared.model.graph.nodes) >
           OperatorsOf(original_->model) + original_->model.kept_values;
  }

  // Without constants; of calls of functions, those of the functions' bodies. Reading makes several
  // operators of a Softmax of old opsets, which the file has as one.
  static int64_t OperatorsOf(const onnx::Model& model) {
    const auto read = static_cast<int64_t>(model.graph.nodes.size());
    if (model.inlined_calls > 0) return read;
    const auto constants = model.op_counts.find("Constant");
    return std::min(
        read, NodeCount(model) - (constants == model.op_counts.end() ? 0 : constants->second));
  }

  // Nullopt, with a note, if the graph does not agree with the original.
  MaybeDelivery DeliverIfSame(const Prepared& from, const Packaged& packaged) {
    report_.is_same_graph = IsOriginal(packaged);
    if (!report_.is_same_graph) {
      const int64_t start_ns = clock_.NowNs();
      const absl::StatusOr<bool> agrees = Agrees(packaged);
      report_.check_seconds += clock_.SecondsSince(start_ns);
      QUOTIENT_RETURN_IF_ERROR(agrees.status());
      if (!*agrees) return std::nullopt;
    }
    QUOTIENT_ASSIGN_OR_RETURN(Delivery delivery, Deliver(from, packaged, SettingsToWrite()));
    for (const report::JournalEntry& entry : packaged.journal) ++report_.rules[entry.rule];
    return delivery;
  }

  // --- The check ---

  // Whether the graph is that of the model, node for node, so that there is nothing to compare.
  // Both are compared as inference sees them, because the result describes more types.
  bool IsOriginal(const Packaged& packaged) const {
    const model::Graph& graph = packaged.prepared.graph;
    if (original_->model.graph.nodes.size() != graph.nodes.size()) return false;
    const absl::StatusOr<Prepared> unfolded = PrepareResult(
        {files_.model, files_.external_data, nullptr}, original_->shapes, threads_, stop_,
        {.freeze_initializers = options_.freeze_initializers, .kept_values = options_.kept_values});
    return unfolded.ok() && model::GraphDigest(unfolded->graph) == model::GraphDigest(graph);
  }

  absl::StatusOr<bool> Agrees(const Packaged& packaged) {
    if (!checker_.has_value()) QUOTIENT_RETURN_IF_ERROR(MakeChecker());
    QUOTIENT_ASSIGN_OR_RETURN(
        const verify::Verdict verdict,
        checker_->Check({&packaged.prepared.model.graph, &packaged.prepared.cut}, stop_));
    if (verdict.passed) {
      report_.verification = VerificationOf(*checker_, verdict);
      return true;
    }
    breaks_names_ |= verdict.breaks_names;
    refusals_.push_back(absl::StrCat("a graph was refused, which does not agree with the model: ",
                                     verdict.failure));
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

  const ModelFiles& files_;
  Options options_;
  const std::string& external_location_;
  const int threads_;
  const Clock& clock_;
  const StopCondition& stop_;
  const int64_t start_ns_ = clock_.NowNs();
  // What kernels take on one core, by its data sheet.
  const std::unique_ptr<cost::CostModel> costs_ = cost::NewAnalyticCostModel(cost::CpuSheet());
  const Prepared* original_ = nullptr;  // What graphs are compared with.
  double original_us_ = 0;              // What it is predicted to take.
  model::Graph as_read_;
  std::optional<verify::Checker> checker_;
  bool breaks_names_ = false;          // Whether a graph differs where sizes of one name do.
  std::vector<std::string> refusals_;  // Notes on graphs that were not taken.
  report::Simplification report_;
};

}  // namespace

absl::StatusOr<Simplified> Simplify(const ModelFiles& files, const Options& options,
                                    const std::string& external_location, const Clock& clock,
                                    const StopCondition& stop) {
  QUOTIENT_RETURN_IF_ERROR(options.Validate());
  return Simplifier(files, options, external_location, clock, stop).Run();
}

}  // namespace quotient::optimize
