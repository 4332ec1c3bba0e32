#include "core/timing/service.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <atomic>
#include <map>
#include <set>
#include <thread>
#include <vector>

#include "absl/synchronization/notification.h"
#include "tests/core/timing/scripted.h"
#include "tests/support/clock_set_back.h"
#include "tests/support/status_matchers.h"

namespace quotient::timing {
namespace {

using kernels::KernelSpec;
using kernels::fake::FakeClock;

KernelSpec Relu(int64_t elements) {
  const auto type = model::StaticType(model::DType::kFloat32, std::vector<int64_t>{elements});
  return kernels::MakeSpec("Relu", {}, {kernels::Operand{type}}, {type}, 1, 0);
}

bool IsReady(const std::shared_future<Timing>& future) {
  return future.wait_for(std::chrono::seconds(0)) == std::future_status::ready;
}

class ServiceTest : public ::testing::Test {
 protected:
  // Kernels take 400 us and a tenth per element.
  ServiceTest() {
    backend_ = NewFakeBackend(
        &clock_, {.run_us = [this](const KernelSpec& spec, int) { return Cost(spec); }});
  }

  virtual absl::StatusOr<double> Cost(const KernelSpec& spec) {
    return 400 + 0.1 * static_cast<double>(spec.outputs[0].type.elements());
  }

  std::unique_ptr<TimingService> Service(ServiceOptions options = {}) {
    options.make_probe = [this] { return std::make_unique<ScriptedProbe>(&clock_); };
    return NewTimingService(backend_.get(), store_.get(), &lane_, options);
  }

  FakeClock clock_;
  Lane lane_;
  std::unique_ptr<kernels::Backend> backend_;
  std::unique_ptr<TimingStore> store_ = NewMemoryStore();
};

TEST_F(ServiceTest, MeasuresWhatIsAskedFor) {
  const auto service = Service();
  const auto small = service->Get(Relu(10)), large = service->Get(Relu(1000));
  service->Wait({});
  ASSERT_TRUE(IsReady(small) && IsReady(large));
  EXPECT_NEAR(small.get().min_us, 401, 1e-6);
  EXPECT_NEAR(large.get().min_us, 500, 1e-6);
  EXPECT_EQ(service->measurements(), 2);
}

TEST_F(ServiceTest, OneMeasurementPerKeyHoweverManyAsk) {
  const auto service = Service();
  std::vector<std::jthread> askers;
  for (int i = 0; i < 8; ++i) {
    askers.emplace_back([&] {
      for (int64_t n = 1; n <= 40; ++n) service->Get(Relu(n));
      service->Wait({});
    });
  }
  askers.clear();
  EXPECT_EQ(service->measurements(), 40);
  for (int64_t n = 1; n <= 40; ++n) {
    EXPECT_NEAR(service->Get(Relu(n)).get().min_us, 400 + 0.1 * n, 1e-6);
  }
}

TEST_F(ServiceTest, OfSeveralWaysToRunAKernelTheFastestIsItsTime) {
  backend_ =
      NewFakeBackend(&clock_, {.run_us = [this](const KernelSpec& spec, int) { return Cost(spec); },
                               .plans = {{"slow", 2}, {"fast", 0.5}, {"usual", 1}}});
  store_ = NewMemoryStore();
  const auto service = Service();
  const auto future = service->Get(Relu(1000));
  service->Get(Relu(10));
  service->Wait({});
  ASSERT_TRUE(IsReady(future));
  EXPECT_NEAR(future.get().min_us, 250, 1e-6);
  EXPECT_EQ(future.get().plan, "fast");
  EXPECT_EQ(service->Find(Relu(10))->plan, "fast");
  EXPECT_EQ(service->measurements(), 2);
}

// The first kernel that is compiled finds somebody who wants the lane soon.
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

// While the first kernel is sampled, somebody wants the lane soon.
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

// Two of these are as many as a batch may have.
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

// Kernels look at whether others hold still while they run.
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

TEST_F(ServiceTest, WaitsTakeNoLongerIfTheMachinesClockIsSetBack) {
  const auto service = Service({.batch_ms = 1});
  EXPECT_TRUE(testing::IgnoresClockSetBack([&] { service->Get(Relu(10)).wait(); }));
  absl::Notification released;
  std::jthread other([&] { lane_.Run([&] { released.WaitForNotification(); }); });
  const auto late = service->Get(Relu(20));
  const int64_t soon_ns = Clock::System().NowNs() + 1'000'000;
  EXPECT_TRUE(testing::IgnoresClockSetBack(
      [&] { service->Wait(StopCondition(nullptr, Clock::System(), soon_ns)); }));
  released.Notify();
  late.wait();
}

TEST_F(ServiceTest, FindAsksForNothing) {
  const auto service = Service();
  EXPECT_EQ(service->Find(Relu(10)), std::nullopt);
  service->Wait({});
  EXPECT_EQ(service->measurements(), 0);
  service->Get(Relu(10));
  service->Wait({});
  ASSERT_TRUE(service->Find(Relu(10)).has_value());
  EXPECT_NEAR(service->Find(Relu(10))->min_us, 401, 1e-6);
}

TEST_F(ServiceTest, TheStoreAnswersForEarlierRuns) {
  {
    const auto service = Service();
    service->Get(Relu(10));
    service->Wait({});
  }
  const auto service = Service();
  EXPECT_TRUE(service->Find(Relu(10)).has_value());
  EXPECT_TRUE(IsReady(service->Get(Relu(10))));
  EXPECT_EQ(service->measurements(), 0);
}

TEST_F(ServiceTest, NoisyTimingsOfEarlierRunsAreMeasuredAgain) {
  const std::string key = kernels::KernelKey(Relu(10));
  const std::string fingerprint = StoredFingerprint(backend_->fingerprint());
  ASSERT_OK(store_->Add(key, fingerprint, {.state = TimingState::kNoisy, .min_us = 900}));
  const auto service = Service();
  EXPECT_EQ(service->Find(Relu(10))->min_us, 900);
  const auto future = service->Get(Relu(10));
  service->Wait({});
  EXPECT_EQ(future.get().state, TimingState::kOk);
  EXPECT_NEAR(future.get().min_us, 401, 1e-6);
  EXPECT_NEAR(store_->Find(key, fingerprint)->min_us, 401, 1e-6);
  EXPECT_EQ(service->measurements(), 1);
}

// Other work disturbs all samples.
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

// Two threads never have their cores at once, so that each run takes about a millisecond, whatever
// it does. One thread by itself takes its time, and waits for the core besides.
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

TEST_F(ServiceTest, TimingsOfAnotherDeviceAreNotOurs) {
  ASSERT_OK(store_->Add(KernelKey(Relu(10)), "another device", Timing{TimingState::kOk, 1}));
  const auto service = Service();
  EXPECT_EQ(service->Find(Relu(10)), std::nullopt);
}

TEST_F(ServiceTest, WaitEndsWhenItIsToldTo) {
  CancelToken token;
  token.Cancel();
  const auto service = Service();
  service->Get(Relu(10));
  service->Wait(StopCondition(&token));  // must return, measured or not
}

TEST_F(ServiceTest, NobodyIsLeftWaitingWhenTheServiceEnds) {
  std::vector<std::shared_future<Timing>> futures;
  {
    const auto service = Service({.batch_keys = 1000, .batch_ms = 1e6});
    for (int64_t n = 1; n <= 40; ++n) futures.push_back(service->Get(Relu(n)));
  }
  for (const auto& future : futures) {
    ASSERT_TRUE(IsReady(future));
    EXPECT_EQ(future.get().state, TimingState::kFailed);
  }
}

// Whenever a kernel is run, somebody asks for another one.
class InsatiableServiceTest : public ServiceTest {
 protected:
  absl::StatusOr<double> Cost(const KernelSpec& spec) override {
    if (service_ != nullptr) service_->Get(Relu(++next_));
    return ServiceTest::Cost(spec);
  }

  TimingService* service_ = nullptr;
  int64_t next_ = 1000;
};

TEST_F(InsatiableServiceTest, WhatOthersAskForLaterIsNotWaitedFor) {
  const auto service = Service({.batch_keys = 4});
  service_ = service.get();
  const auto first = service->Get(Relu(10));
  const StopCondition patience = StopCondition().WithBudget(Clock::System(), 60);
  service->Wait(patience);
  EXPECT_FALSE(patience.ShouldStop());
  EXPECT_TRUE(IsReady(first));
}

class FailingServiceTest : public ServiceTest {
 protected:
  absl::StatusOr<double> Cost(const KernelSpec& spec) override {
    switch (spec.outputs[0].type.elements()) {
      case 1:
        return absl::UnimplementedError("no such kernel");
      case 2:
        return memory_is_short_ ? absl::ResourceExhaustedError("no memory left")
                                : absl::StatusOr<double>(400);
      default:
        return 400;
    }
  }

  std::atomic<bool> memory_is_short_ = true;
};

TEST_F(FailingServiceTest, FailuresAreAnswersAndOnlyLastingOnesAreKept) {
  {
    const auto service = Service();
    const auto unsupported = service->Get(Relu(1)), failed = service->Get(Relu(2));
    const auto good = service->Get(Relu(3));
    service->Wait({});
    EXPECT_EQ(unsupported.get().state, TimingState::kUnsupported);
    EXPECT_EQ(failed.get().state, TimingState::kFailed);
    EXPECT_EQ(good.get().state, TimingState::kOk);
  }
  const auto service = Service();
  EXPECT_EQ(service->Find(Relu(1))->state, TimingState::kUnsupported);
  EXPECT_EQ(service->Find(Relu(2)), std::nullopt);
}

TEST_F(FailingServiceTest, WhatFailedIsMeasuredAgainForWhoAsksNext) {
  const auto service = Service();
  service->Get(Relu(1));
  const auto first = service->Get(Relu(2));
  service->Wait({});
  EXPECT_EQ(first.get().state, TimingState::kFailed);
  EXPECT_EQ(service->Find(Relu(2))->state, TimingState::kFailed);
  EXPECT_EQ(service->measurements(), 2);

  memory_is_short_ = false;
  EXPECT_EQ(service->Find(Relu(2))->state, TimingState::kFailed);  // which asks for nothing
  const auto unsupported = service->Get(Relu(1)), second = service->Get(Relu(2));
  EXPECT_TRUE(IsReady(unsupported));
  service->Wait({});
  EXPECT_EQ(second.get().state, TimingState::kOk);
  EXPECT_EQ(service->Find(Relu(2))->min_us, 400);
  EXPECT_EQ(service->measurements(), 3);
  EXPECT_EQ(first.get().state, TimingState::kFailed);
}

TEST_F(FailingServiceTest, AFailureThatSomebodyStoredIsNoAnswer) {
  memory_is_short_ = false;
  const std::string device = StoredFingerprint(backend_->fingerprint());
  ASSERT_OK(store_->Add(KernelKey(Relu(2)), device, Timing{TimingState::kFailed}));
  const auto service = Service();
  const auto future = service->Get(Relu(2));
  service->Wait({});
  EXPECT_EQ(future.get().state, TimingState::kOk);
}

}  // namespace
}  // namespace quotient::timing
