// How long it takes to find the matches of all rules in the e-graphs of ONNX models: while they
// grow to a limit, and after single steps of a search. With --help it lists its options.
//
// A line per file: the e-nodes that saturation ends with and how many a second it makes, searching
// and applying; then what a step of a search takes in microseconds, in states on the way there: to
// apply the matches of one rule and rebuild, and to find what matches after that; then how many
// simulations a tree search makes in a second of processor time, and the cost that it ends with.

#include <chrono>
#include <cstdio>
#include <ctime>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "client/cpp/model_files.h"
#include "core/base/clock.h"
#include "core/base/rng.h"
#include "core/base/status_macros.h"
#include "core/cost/cost_model.h"
#include "core/domain/tensor_egraph.h"
#include "core/optimize/prepared.h"
#include "core/pricing/tensor_workspace.h"
#include "core/rules/rule_set.h"
#include "core/search/mcts.h"
#include "core/search/rewriter.h"
#include "core/search/saturate.h"
#include "tests/bench/idle_rules.h"
#include "tests/support/arguments.h"
#include "tests/support/program.h"

namespace quotient {
namespace {

constexpr char kUsage[] = R"(usage: match_bench FILE.onnx... [options]

  --nodes N         at which e-graphs stop growing (20000)
  --paths N         paths of eight steps each, from the initial e-graph (40)
  --copies N        how often all rules are there, each copy with all of its matches (1);
                    the tree search has them once
  --idle N          further copies whose matches are found and then all refused (0)
  --idle-rules FILE rules whose matches are found and then all refused
  --simulations N   of the tree search, which begins by growing to the limit (400)
  --search-nodes N  at which its e-graphs stop growing (5000)
)";
constexpr char kDevice[] = "model:h200";
constexpr Program kProgram = {"match_bench", kUsage};
constexpr int kThreads = 2;
constexpr int kMaxOpset = 20;
constexpr int kStepsOfPath = 8;

struct Options {
  std::vector<std::string> files;
  std::optional<int64_t> nodes;
  std::optional<int64_t> paths;
  std::optional<int64_t> copies;
  std::optional<int64_t> idle;
  std::string idle_rules;
  std::optional<int64_t> simulations;
  std::optional<int64_t> search_nodes;
};

absl::StatusOr<Options> ParseOptions(std::span<const char* const> words) {
  Options options;
  const Flag flags[] = {NumberFlag("--nodes", 1, options.nodes),
                        NumberFlag("--paths", 1, options.paths),
                        NumberFlag("--copies", 1, options.copies),
                        NumberFlag("--idle", 0, options.idle),
                        TextFlag("--idle-rules", options.idle_rules),
                        NumberFlag("--simulations", 1, options.simulations),
                        NumberFlag("--search-nodes", 1, options.search_nodes)};
  QUOTIENT_RETURN_IF_ERROR(ParseArguments(words, flags, &options.files));
  if (options.files.empty()) return WrongArgument("FILE", "is missing");
  return options;
}

double MicrosecondsSince(std::chrono::steady_clock::time_point start) {
  return std::chrono::duration<double, std::micro>(std::chrono::steady_clock::now() - start)
      .count();
}

// Idle ones beside these rules of the domain.
absl::StatusOr<IdleRules> MakeIdleRules(const Options& options,
                                        std::span<const egraph::Rule* const> rules,
                                        domain::TensorDomain* domain) {
  IdleRules idle;
  idle.AddCopies(rules, options.idle.value_or(0));
  if (!options.idle_rules.empty()) {
    QUOTIENT_RETURN_IF_ERROR(idle.AddFile(options.idle_rules, domain));
  }
  return idle;
}

// A workspace that has idle rules, too.
class IdleWorkspace final : public search::Workspace {
 public:
  IdleWorkspace(std::unique_ptr<pricing::TensorWorkspace> of, IdleRules idle)
      : of_(std::move(of)), idle_(std::move(idle)) {
    rules_.assign(of_->rules().begin(), of_->rules().end());
    for (const auto& rule : idle_.rules()) rules_.push_back(rule.get());
  }

  egraph::EGraph& graph() override { return of_->graph(); }
  std::span<const egraph::Rule* const> rules() const override { return rules_; }
  void OnGraphGrown() override { of_->OnGraphGrown(); }
  double Cost(const StopCondition& stop) override { return of_->Cost(stop); }
  void ForEachBest(const std::function<void(egraph::ClassId)>& visit) override {
    of_->ForEachBest(visit);
  }
  void Mark() override { of_->Mark(); }
  void Rollback() override { of_->Rollback(); }
  void Forget() override { of_->Forget(); }

 private:
  const std::unique_ptr<pricing::TensorWorkspace> of_;
  const IdleRules idle_;
  std::vector<const egraph::Rule*> rules_;
};

class MatchedModel {
 public:
  static absl::StatusOr<MatchedModel> Make(const std::string& path, const Options& options) {
    MatchedModel made;
    QUOTIENT_ASSIGN_OR_RETURN(client::LocalModel files, client::LocalModel::Open(path));
    made.files_ = std::make_unique<client::LocalModel>(std::move(files));
    QUOTIENT_ASSIGN_OR_RETURN(
        made.prepared_,
        optimize::Prepare(made.files_->View(), optimize::Options(), kThreads, StopCondition()));
    QUOTIENT_ASSIGN_OR_RETURN(made.tensors_,
                              domain::FromGraph(made.prepared_->graph, made.prepared_->measured));
    for (int64_t i = 0; i < options.copies.value_or(1); ++i) {
      QUOTIENT_ASSIGN_OR_RETURN(rules::RuleSet set,
                                rules::BuildRules(made.tensors_.domain.get(), kMaxOpset, {}));
      made.rules_.insert(made.rules_.end(), set.rules().begin(), set.rules().end());
      made.sets_.push_back(std::move(set));
    }
    QUOTIENT_ASSIGN_OR_RETURN(
        made.idle_, MakeIdleRules(options, made.sets_[0].rules(), made.tensors_.domain.get()));
    for (const auto& rule : made.idle_.rules()) made.rules_.push_back(rule.get());
    made.limits_.max_enodes = options.nodes.value_or(20'000);
    return made;
  }

  // Walks random paths, each of which is undone. Each step applies a rule that has matches.
  absl::Status TakeSteps(int64_t paths) {
    search::Rewriter rewriter(tensors_.egraph.get(), rules_);
    const std::vector<size_t> wanted(rules_.size(), kMostMatches);
    rewriter.Search(wanted, {});
    Rng rng(1);
    for (int64_t path = 0; path < paths; ++path) {
      for (int step = 0; step < kStepsOfPath; ++step) {
        rewriter.Mark();
        QUOTIENT_RETURN_IF_ERROR(TakeStep(rewriter, wanted, rng));
      }
      for (int step = 0; step < kStepsOfPath; ++step) rewriter.Rollback();
    }
    return absl::OkStatus();
  }

  absl::Status Saturate() {
    const auto start = std::chrono::steady_clock::now();
    search::Rewriter rewriter(tensors_.egraph.get(), rules_);
    QUOTIENT_RETURN_IF_ERROR(search::Saturate(rewriter, limits_, {}, {}).status());
    saturation_us_ = MicrosecondsSince(start);
    return absl::OkStatus();
  }

  // Runs a tree search of one worker.
  absl::Status Simulate(const Options& options) {
    QUOTIENT_ASSIGN_OR_RETURN(const auto model, cost::NewAnalyticCostModel(kDevice));
    pricing::KernelPrices prices(model.get());
    pricing::TensorWorkspace::Settings settings;
    settings.max_opset = kMaxOpset;
    QUOTIENT_ASSIGN_OR_RETURN(
        auto made,
        pricing::TensorWorkspace::Make(prepared_->graph, prepared_->measured, settings, &prices));
    QUOTIENT_ASSIGN_OR_RETURN(IdleRules idle,
                              MakeIdleRules(options, made->rules(), made->tensors().domain.get()));
    IdleWorkspace workspace(std::move(made), std::move(idle));
    search::Task task = {.clock = Clock::System()};
    task.limits.max_enodes = options.search_nodes.value_or(5'000);
    task.limits.max_simulations = options.simulations.value_or(400);
    const std::clock_t start = std::clock();
    QUOTIENT_ASSIGN_OR_RETURN(const search::Outcome outcome,
                              search::MctsStrategy().Run(workspace, task));
    const double seconds = static_cast<double>(std::clock() - start) / CLOCKS_PER_SEC;
    simulations_per_second_ = static_cast<double>(outcome.simulations) / seconds;
    cost_us_ = outcome.improvements.back().cost;
    return absl::OkStatus();
  }

  void Print(const std::string& path) const {
    std::printf("%-36s %8lld %12.0f %12.0f %12.0f %14.1f %12.3f\n", path.c_str(),
                static_cast<long long>(tensors_.egraph->num_enodes()),
                static_cast<double>(tensors_.egraph->num_enodes()) / saturation_us_ * 1e6,
                apply_us_ / static_cast<double>(steps_), search_us_ / static_cast<double>(steps_),
                simulations_per_second_, cost_us_);
    std::fflush(stdout);
  }

 private:
  static constexpr size_t kMostMatches = 1'000;

  absl::Status TakeStep(search::Rewriter& rewriter, std::span<const size_t> wanted, Rng& rng) {
    std::vector<size_t> with_matches;
    for (size_t rule = 0; rule < rewriter.num_rules(); ++rule) {
      if (rewriter.num_waiting(rule) > 0) with_matches.push_back(rule);
    }
    if (with_matches.empty()) return absl::OkStatus();
    const size_t rule = with_matches[rng.Below(with_matches.size())];
    auto start = std::chrono::steady_clock::now();
    QUOTIENT_RETURN_IF_ERROR(rewriter.ApplyNext(rule, rewriter.num_waiting(rule)).status());
    QUOTIENT_RETURN_IF_ERROR(rewriter.Rebuild());
    apply_us_ += MicrosecondsSince(start);
    start = std::chrono::steady_clock::now();
    rewriter.Search(wanted, {});
    search_us_ += MicrosecondsSince(start);
    ++steps_;
    return absl::OkStatus();
  }

  std::unique_ptr<client::LocalModel> files_;  // What weights lie in.
  std::optional<optimize::Prepared> prepared_;
  domain::TensorEGraph tensors_;
  std::vector<rules::RuleSet> sets_;
  IdleRules idle_;
  std::vector<const egraph::Rule*> rules_;
  search::Limits limits_;
  double saturation_us_ = 0;
  double apply_us_ = 0;
  double search_us_ = 0;
  int64_t steps_ = 0;
  double simulations_per_second_ = 0;
  double cost_us_ = 0;
};

absl::StatusOr<bool> Run(const Options& options) {
  std::printf("%-36s %8s %12s %12s %12s %14s %12s\n", "file", "e-nodes", "e-nodes/s", "apply us",
              "search us", "simulations/s", "cost us");
  for (const std::string& path : options.files) {
    QUOTIENT_ASSIGN_OR_RETURN(MatchedModel walked, MatchedModel::Make(path, options));
    QUOTIENT_RETURN_IF_ERROR(walked.TakeSteps(options.paths.value_or(40)));
    QUOTIENT_RETURN_IF_ERROR(walked.Saturate());
    QUOTIENT_RETURN_IF_ERROR(walked.Simulate(options));
    walked.Print(path);
  }
  return true;
}

}  // namespace
}  // namespace quotient

int main(int argc, char** argv) {
  return quotient::RunProgram(quotient::kProgram, {argv + 1, static_cast<size_t>(argc - 1)},
                              quotient::ParseOptions, quotient::Run);
}
