#include "core/timing/service.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <atomic>
#include <thread>
#include <vector>

#include "absl/synchronization/notification.h"
#include "tests/core/timing/service_fixture.h"
#include "tests/support/clock_set_back.h"
#include "tests/support/status_matchers.h"

namespace quotient::timing {
namespace {

using kernels::KernelSpec;

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
// While the first kernel is sampled, somebody wants the lane soon.
// Two of these are as many as a batch may have.
// Kernels look at whether others hold still while they run.
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
// Two threads never have their cores at once, so that each run takes about a millisecond, whatever
// it does. One thread by itself takes its time, and waits for the core besides.
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
