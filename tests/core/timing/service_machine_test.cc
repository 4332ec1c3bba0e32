// How a timing service shares the machine: who gives way, memory, work beside it, threads.

#include <gtest/gtest.h>

#include <map>
#include <set>
#include <thread>
#include <utility>
#include <vector>

#include "core/timing/service.h"
#include "tests/core/timing/service_fixture.h"

namespace quotient::timing {
namespace {

using kernels::KernelSpec;

class InterruptedServiceTest : public ServiceTest {
 protected:
  absl::StatusOr<double> Cost(const KernelSpec& spec) override {
    kernels_.insert(spec.outputs[0].type.elements());
    if (!other_.joinable()) {
      other_ = std::jthread([this] { lane_.RunUrgent([this] { seen_ = kernels_.size(); }); });
      while (!lane_.HasUrgent()) std::this_thread::yield();
    }
    return ServiceTest::Cost(spec);
  }

  std::set<int64_t> kernels_;  // By their sizes, those that were compiled.
  size_t seen_ = 0;            // How many of them there were when the other one ran.
  std::jthread other_;
};

TEST_F(InterruptedServiceTest, ABatchGivesWayAndGoesOnLater) {
  const auto service = Service({.batch_ms = 1e9});
  std::vector<std::shared_future<Timing>> futures;
  for (const int64_t n : {10, 20, 30}) futures.push_back(service->Get(Relu(n)));
  service->Wait({});
  EXPECT_EQ(seen_, 1u);
  EXPECT_EQ(service->measurements(), 3);
  for (size_t i = 0; i < futures.size(); ++i) {
    ASSERT_TRUE(IsReady(futures[i]));
    EXPECT_NEAR(futures[i].get().min_us, 401 + static_cast<double>(i), 1e-6);
  }
}

class InterruptedSamplesTest : public ServiceTest {
 protected:
  InterruptedSamplesTest() {
    backend_ = NewFakeBackend(
        &clock_, {.run_us = [this](const KernelSpec& spec, int run) { return Run(spec, run); }});
  }

  absl::StatusOr<double> Run(const KernelSpec& spec, int run) {
    ++runs_;
    if (run == 5 && !other_.joinable()) {
      other_ = std::jthread([this] { lane_.RunUrgent([this] { runs_before_ = runs_; }); });
      while (!lane_.HasUrgent()) std::this_thread::yield();
    }
    return Cost(spec);
  }

  int runs_ = 0;
  int runs_before_ = 0;  // Of these, the runs before the other one's turn.
  std::jthread other_;
};

TEST_F(InterruptedSamplesTest, SamplingGivesWayAndIsRepeatedLater) {
  const auto service = Service({.batch_ms = 1e9});
  const auto first = service->Get(Relu(10)), second = service->Get(Relu(20));
  service->Wait({});
  // Compiling runs each once; three runs warm each up; then two rounds and a half.
  EXPECT_EQ(runs_before_, 2 + 2 * 3 + 2 + 2 + 1);
  EXPECT_EQ(service->measurements(), 2);
  for (const auto& [future, us] : {std::pair(first, 401.0), std::pair(second, 402.0)}) {
    ASSERT_TRUE(IsReady(future));
    EXPECT_EQ(future.get().state, TimingState::kOk);
    EXPECT_EQ(future.get().samples, 7);
    EXPECT_NEAR(future.get().min_us, us, 1e-6);
  }
}

TEST_F(ServiceTest, KernelsThatHoldMuchMemoryAreTimedAFewAtATime) {
  constexpr int64_t kLarge = 10'000'000;
  std::set<int64_t> seen;
  size_t at_first = 0;  // How many there were when the first of them was sampled.
  backend_ = NewFakeBackend(&clock_, {.run_us = [&](const KernelSpec& spec, int run) {
    seen.insert(spec.outputs[0].type.elements());
    if (run > 0 && at_first == 0) at_first = seen.size();
    return Cost(spec);
  }});
  const auto service = Service({.batch_ms = 1e9});
  std::vector<std::shared_future<Timing>> futures;
  for (int64_t i = 0; i < 5; ++i) futures.push_back(service->Get(Relu(kLarge + i)));
  service->Wait({});
  EXPECT_EQ(at_first, 2u);
  EXPECT_EQ(seen.size(), 5u);
  for (const auto& future : futures) EXPECT_EQ(future.get().state, TimingState::kOk);
}

TEST_F(ServiceTest, OthersGiveWayOnlyIfKernelsNeedQuiet) {
  for (const bool needs_quiet : {false, true}) {
    bool was_quiet = false;
    std::unique_ptr<TimingService> service;
    backend_ = NewFakeBackend(&clock_, {.run_us = [&](const KernelSpec& spec, int run) {
      const int64_t soon = Clock::System().NowNs() + 1'000'000;
      const StopCondition stop(nullptr, Clock::System(), soon);
      if (run == 1 && service != nullptr) {
        service->GiveWay(stop);
        was_quiet = stop.ShouldStop();
      }
      return Cost(spec);
    }});
    service = Service({.needs_quiet = needs_quiet});
    service->Get(Relu(needs_quiet ? 20 : 10));
    service->Wait({});
    EXPECT_EQ(was_quiet, needs_quiet);
    service->GiveWay({});  // Nothing is measured any more.
    service = nullptr;
  }
}

class BusyServiceTest : public ServiceTest {
 protected:
  BusyServiceTest() {
    backend_ = NewFakeBackend(&clock_, {.run_us = [this](const KernelSpec& spec, int) {
      ++runs_[spec.outputs[0].type.elements()];
      if (probe_ != nullptr) probe_->Interrupt();
      return Cost(spec);
    }});
  }

  std::map<int64_t, int> runs_;  // By the size of the kernel.
  ScriptedProbe* probe_ = nullptr;
};

TEST_F(BusyServiceTest, NoisyKernelsAreTimedAgainIfNoOthersWait) {
  ServiceOptions options = {.batch_keys = 2, .batch_ms = 1e9};
  options.make_probe = [this] {
    auto probe = std::make_unique<ScriptedProbe>(&clock_);
    probe_ = probe.get();
    return probe;
  };
  const auto service = NewTimingService(backend_.get(), store_.get(), &lane_, options);
  std::vector<std::shared_future<Timing>> futures;
  lane_.Run([&] {  // Nothing is measured before all of them are in the queue.
    for (const int64_t n : {10, 20, 30, 40}) futures.push_back(service->Get(Relu(n)));
  });
  service->Wait({});
  for (const auto& future : futures) {
    ASSERT_TRUE(IsReady(future));
    EXPECT_EQ(future.get().state, TimingState::kNoisy);
  }
  EXPECT_EQ(runs_[10], runs_[20]);
  EXPECT_GT(runs_[30], runs_[20]);
  EXPECT_EQ(runs_[30], runs_[40]);
}

class TwoThreadsServiceTest : public ServiceTest {
 protected:
  TwoThreadsServiceTest() {
    backend_ =
        NewFakeBackend(&clock_, {.threads = 2, .run_us = [this](const KernelSpec& spec, int) {
                                   ++runs_[spec.threads];
                                   ScriptedProbe& probe = spec.threads == 1 ? *alone_ : *together_;
                                   probe.Interrupt(&clock_, spec.threads == 1 ? 5000 : 990);
                                   return Cost(spec, spec.threads);
                                 }});
    options_.threads = 2;
    options_.bounds_by_one_thread = true;
    options_.make_probe = [this] {
      auto probe = std::make_unique<ScriptedProbe>(&clock_);
      together_ = probe.get();
      return probe;
    };
    options_.make_probe_of_one_thread = [this] {
      auto probe = std::make_unique<ScriptedProbe>(&clock_);
      probe->HaveCpuTime();
      alone_ = probe.get();
      return probe;
    };
  }

  // Kernels of up to 1000 elements take as long with two threads as with one, others half as long.
  static absl::StatusOr<double> Cost(const KernelSpec& spec, int threads) {
    const double elements = static_cast<double>(spec.outputs[0].type.elements());
    return elements / 100 / (elements > 1000 ? threads : 1);
  }
  Timing TimingOf(int64_t elements) {
    const auto service = NewTimingService(backend_.get(), store_.get(), &lane_, options_);
    KernelSpec spec = Relu(elements);
    spec.threads = 2;
    const auto future = service->Get(spec);
    service->Wait({});
    return future.get();
  }

  ServiceOptions options_;
  std::map<int, int> runs_;  // By the number of threads.
  ScriptedProbe* together_ = nullptr;
  ScriptedProbe* alone_ = nullptr;
};

TEST_F(TwoThreadsServiceTest, AKernelTakesLittleLongerThanOnOneThread) {
  const Timing timing = TimingOf(400);
  EXPECT_EQ(timing.state, TimingState::kNoisy);
  EXPECT_NEAR(timing.min_us, 4 + 2, 1e-3);
  EXPECT_NEAR(timing.relative_spread, 0, 1e-3);
  EXPECT_TRUE(timing.is_reliable());
}

TEST_F(TwoThreadsServiceTest, WhatTakesLongerOnOneThreadStaysAsItIs) {
  const Timing timing = TimingOf(1'000'000);
  EXPECT_EQ(timing.state, TimingState::kNoisy);
  EXPECT_NEAR(timing.min_us, 5000 + 990, 1e-3);
  EXPECT_GT(runs_[1], 0);
}

TEST_F(TwoThreadsServiceTest, WithoutWorkBesideThemKernelsRunOnTheirThreadsOnly) {
  backend_ = NewFakeBackend(&clock_, {.threads = 2, .run_us = [this](const KernelSpec& spec, int) {
                                        ++runs_[spec.threads];
                                        return Cost(spec, spec.threads);
                                      }});
  EXPECT_EQ(TimingOf(400).state, TimingState::kOk);
  EXPECT_EQ(runs_.count(1), 0u);
}

TEST_F(TwoThreadsServiceTest, ABackendThatDecidesOnThreadsItselfIsNotAsked) {
  options_.bounds_by_one_thread = false;
  EXPECT_GT(TimingOf(400).min_us, 990);
  EXPECT_EQ(runs_.count(1), 0u);
}

}  // namespace
}  // namespace quotient::timing
