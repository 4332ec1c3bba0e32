#pragma once

// Fixtures for contests, and the decisions by them, on a fake device: the original is three Erfs in
// a row, and the candidates are other graphs of the same input.

#include <gtest/gtest.h>

#include <functional>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "core/base/rng.h"
#include "core/model/text.h"
#include "core/optimize/contest.h"
#include "core/optimize/decide.h"
#include "core/timing/memory_store.h"
#include "core/verify/random_inputs.h"
#include "tests/support/fake_backend.h"

namespace quotient::optimize {

inline Prepared PreparedFrom(absl::string_view nodes) {
  Prepared prepared;
  prepared.cut = *verify::Cut(*model::ParseGraph(
      absl::StrCat("graph g { input x: float32[4096]\n", nodes, "\noutput y }")));
  return prepared;
}

class ContestTest : public testing::Test {
 protected:
  // A device without a kernel for Tanh. The others take as long as `us_` says, give or take
  // `noise_` of it, by the device's own clock.
  absl::StatusOr<double> RunUs(const kernels::KernelSpec& spec) {
    if (spec.op == "Tanh") return absl::UnimplementedError("no kernel for Tanh");
    const auto at = us_.find(spec.op + std::string(spec.epilogue.size(), '+'));
    const double us = at == us_.end() ? 100 : at->second;
    if (us < 0) return absl::UnavailableError("it runs no longer");
    return us * (1 + noise_ * (2 * rng_.NextDouble() - 1));
  }

  MeasureContext Context(const std::vector<model::Tensor>& inputs) {
    return {.original = original_,
            .cost = cost_,
            .files = files_,
            .inputs = inputs,
            .reference = reference_,
            .backend = *backend_,
            .lane = lane_,
            .options = options_,
            .one_thread = one_thread_};
  }

  absl::StatusOr<Contest> Run() {
    const std::vector<model::Tensor> inputs = verify::RandomInputs(original_.cut.graph, 1);
    absl::StatusOr<Contest> contest;
    lane_.RunUrgent([&] {
      contest =
          RunContest(Context(inputs), std::move(candidates_), StopCondition(&token_), &failures_);
    });
    return contest;
  }

  absl::StatusOr<Decision> Decide() {
    const std::vector<model::Tensor> inputs = verify::RandomInputs(original_.cut.graph, 1);
    return DecideByRunning(Context(inputs), std::move(candidates_), StopCondition(&token_),
                           &failures_);
  }

  // `predicted_us`: 0 if nothing is predicted.
  void AddCandidate(absl::string_view nodes, double predicted_us = 0) {
    Packaged& packaged = candidates_.emplace_back().packaged;
    packaged.written = std::make_shared<WrittenCandidate>();
    packaged.prepared = PreparedFrom(nodes);
    packaged.cost = Predicted(packaged.prepared, predicted_us);
  }

  cost::GraphCost Predicted(const Prepared& prepared, double us) const {
    cost::GraphCost cost;
    auto groups = kernels::PartitionGraph(prepared.cut.graph, backend_->partition());
    if (groups.ok()) cost.groups = *std::move(groups);
    cost.costs.resize(cost.groups.size(), {.source = cost::CostSource::kMeasured});
    cost.total_us = us;
    return cost;
  }

  // From now on, Neg takes one time when it is compiled first, and another one later, as if its
  // buffers lay elsewhere in memory then. Other kernels take 100 us.
  void CompileNegTwice(double first_us, double later_us, std::function<bool()> disturbed = {}) {
    compiled_ = 0;
    backend_ = kernels::fake::NewFakeBackend(
        &clock_, {.run_us = [this, first_us, later_us](const kernels::KernelSpec& spec,
                                                       int run) -> absl::StatusOr<double> {
                    if (spec.op != "Neg") return 100;
                    compiled_ += run == 1 ? 1 : 0;
                    return compiled_ <= 1 ? first_us : later_us;
                  },
                  .disturbed = std::move(disturbed)});
  }

  // The first operator of a candidate.
  static std::string OpOf(const Verified& candidate) {
    return candidate.packaged.prepared.cut.graph.nodes[0].op;
  }

  timing::Lane lane_;
  kernels::fake::FakeClock clock_;
  std::unique_ptr<kernels::Backend> backend_ = kernels::fake::NewFakeBackend(
      &clock_, {.run_us = [this](const kernels::KernelSpec& spec, int) { return RunUs(spec); }});
  // By operator, with a plus sign for each operator behind it. Other kernels take 100 us. One with
  // a negative time fails.
  std::map<std::string, double> us_;
  double noise_ = 0;
  Rng rng_{7};
  Prepared original_ = PreparedFrom(R"(a: float32[4096] = Erf(x)
                                       b: float32[4096] = Erf(a)
                                       y: float32[4096] = Erf(b))");
  cost::GraphCost cost_ = Predicted(original_, 100);
  const verify::Reference* reference_ = nullptr;
  MeasureOptions options_;
  std::function<absl::StatusOr<std::shared_ptr<Device>>()> one_thread_;
  int compiled_ = 0;  // How often Neg was compiled.
  CancelToken token_;
  ModelFiles files_;  // Has no effect, as the device runs graphs.
  std::vector<Verified> candidates_;
  std::vector<std::string> failures_;
};

// Other work disturbs the machine, and the device can be opened for runs on one thread.
class BusyContestTest : public ContestTest {
 protected:
  BusyContestTest() {
    backend_ = kernels::fake::NewFakeBackend(
        &clock_, {.run_us = [this](const kernels::KernelSpec& spec, int) -> absl::StatusOr<double> {
                    const absl::StatusOr<double> us = RunUs(spec);
                    if (!us.ok()) return us;
                    ops_.insert(spec.op);
                    return *us * rng_.Uniform(0.7, 1.3);
                  },
                  .disturbed = [this] { return ++runs_ > quiet_runs_; }});
    one_thread_ = [this]() -> absl::StatusOr<std::shared_ptr<Device>> {
      ++opened_;
      auto backend = kernels::fake::NewFakeBackend(
          &clock_,
          {.run_us = [this](const kernels::KernelSpec& spec, int) -> absl::StatusOr<double> {
            const auto at = cpu_us_.find(spec.op);
            if (at == cpu_us_.end()) return 100;
            return at->second > 0 ? absl::StatusOr<double>(at->second)
                                  : absl::UnimplementedError("not on one thread");
          }});
      auto service = timing::NewTimingService(backend.get(), &store_, &lane_);
      return std::make_shared<Device>(MeasuringParts{
          .backend = std::move(backend), .service = std::move(service), .lane = &lane_});
    };
    options_.threads = 2;
  }

  timing::MemoryStore store_;
  int quiet_runs_ = 0;         // How many runs are not disturbed before the others are.
  int runs_ = 0;               // Of whole graphs, with all threads.
  std::set<std::string> ops_;  // What was run with all threads.
  // Of runs on one thread, by operator. Not positive for one that cannot run so; 100 for others.
  std::map<std::string, double> cpu_us_;
  int opened_ = 0;
};

}  // namespace quotient::optimize
