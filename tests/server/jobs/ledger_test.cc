#include "server/jobs/ledger.h"

#include <thread>
#include <vector>

#include "absl/synchronization/notification.h"
#include "tests/server/support/queue_fixture.h"

namespace quotient::jobs {
namespace {

using ::quotient::testing::QueueTest;

// Reached only when something is broken.
constexpr absl::Duration kPatience = absl::Seconds(60);

// Stands still in the first call until it is released, and notes the jobs.
class SlowObserver : public JobObserver {
 public:
  void OnTransition(const Job& job, const Transition& /*transition*/) override {
    if (ids_.empty()) {
      reached_.Notify();
      EXPECT_TRUE(released_.WaitForNotificationWithTimeout(kPatience));
    }
    ids_.push_back(job.id);
  }

  void AwaitCall() { EXPECT_TRUE(reached_.WaitForNotificationWithTimeout(kPatience)); }
  void Release() { released_.Notify(); }
  const std::vector<std::string>& ids() const { return ids_; }

 private:
  absl::Notification reached_, released_;
  std::vector<std::string> ids_;  // Calls are serialized.
};

using LedgerTest = QueueTest;

absl::Status AddJob(Ledger& ledger, const std::string& id) {
  return ledger.Write([&](Ledger::Edit& edit) {
    Job job{.id = id};
    return edit.Add(&job, "client");
  });
}

TEST_F(LedgerTest, ASlowObserverHoldsUpNoOtherWrite) {
  SlowObserver slow;
  ledger_->AddObserver(&slow);
  std::thread first([this] { EXPECT_OK(AddJob(*ledger_, "first")); });
  slow.AwaitCall();
  absl::Notification written;
  std::thread second([&] {
    EXPECT_OK(ledger_->Write([&](Ledger::Edit& edit) {
      Job job{.id = "second"};
      written.Notify();
      return edit.Add(&job, "client");
    }));
  });
  EXPECT_TRUE(written.WaitForNotificationWithTimeout(kPatience));
  slow.Release();
  first.join();
  second.join();
  EXPECT_EQ(slow.ids(), std::vector<std::string>({"first", "second"}));
}

// The order is that of the numbers that the store gives.
TEST_F(LedgerTest, ObserversHearOfChangesInTheOrderOfTheCommits) {
  constexpr int kThreads = 4, kJobs = 100;
  SlowObserver observer;
  observer.Release();
  ledger_->AddObserver(&observer);
  std::vector<std::thread> threads;
  for (int i = 0; i < kThreads; ++i) {
    threads.emplace_back([this, i] {
      for (int n = 0; n < kJobs; ++n) EXPECT_OK(AddJob(*ledger_, absl::StrCat(i, "-", n)));
    });
  }
  for (std::thread& thread : threads) thread.join();
  std::vector<std::string> newest_first;
  ASSERT_OK(store_->List({.limit = kThreads * kJobs}, [&](int64_t /*number*/, const Job& job) {
    newest_first.push_back(job.id);
    return true;
  }));
  EXPECT_EQ(observer.ids(), std::vector<std::string>(newest_first.rbegin(), newest_first.rend()));
}

TEST_F(LedgerTest, AWriteReturnsWhenItsObserversKnow) {
  for (int i = 0; i < 10; ++i) {
    log_.Take();
    ASSERT_OK(AddJob(*ledger_, absl::StrCat("job", i)));
    EXPECT_EQ(log_.Take().size(), 1u);
  }
}

}  // namespace
}  // namespace quotient::jobs
