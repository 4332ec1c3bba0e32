#include "core/optimize/devices.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sched.h>

#include <atomic>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/synchronization/notification.h"
#include "core/kernels/onednn/onednn_backend.h"
#include "core/ops/infer_graph.h"
#include "core/optimize/optimize.h"
#include "core/optimize/options.h"
#include "core/os/precedence.h"
#include "tests/support/fake_backend.h"
#include "tests/support/fake_device_kind.h"
#include "tests/support/graphs.h"
#include "tests/support/status_matchers.h"

namespace quotient::optimize {
namespace {

using ::quotient::testing::FakeDeviceKind;
using ::quotient::testing::HasReason;
using ::quotient::testing::StatusIs;
using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

// A text of a snapshot that differs from others by its version.
std::string TextOf(const std::string& engine) {
  timing::Snapshot snapshot;
  snapshot.device = "cpu";
  snapshot.partition.threads = 3;
  snapshot.fingerprint = "a core";
  snapshot.engine = engine;
  return ToText(snapshot);
}

model::Graph Convolutions() {
  model::Graph graph = quotient::testing::MustParse(R"(
    graph g {
      input x: float32[1,8,16,16]
      const w: float32[8,8,3,3] = random(1)
      a = Conv(x, w) {pads=[1,1,1,1]}
      b = Relu(a)
      c = Flatten(b)
      output c
    })");
  EXPECT_OK(ops::InferTypes(graph));
  return graph;
}

class DevicesTest : public ::testing::Test {
 protected:
  std::unique_ptr<timing::TimingStore> store_ = timing::NewMemoryStore();
  timing::Lane lane_;
  Devices devices_{{.store = store_.get(), .lane = &lane_}};
};

int PolicyOfLane(timing::Lane* lane) {
  int policy = -1;
  lane->Run([&] { policy = sched_getscheduler(0); });
  return policy;
}

// Whether the system permits it depends on who runs the tests.
TEST_F(DevicesTest, WhatIsTimedTakesPrecedenceIfToldTo) {
  EXPECT_EQ(PolicyOfLane(&lane_), SCHED_OTHER);
  bool is_permitted = false;
  std::thread([&] { is_permitted = os::TakePrecedence(); }).join();
  timing::Lane lane;
  const Devices devices({.store = store_.get(), .lane = &lane, .takes_precedence = true});
  EXPECT_EQ(PolicyOfLane(&lane), is_permitted ? SCHED_RR : SCHED_OTHER);
}

TEST_F(DevicesTest, ASnapshotIsADeviceThatIsMadeOnce) {
  const std::string text = TextOf("1"), name = SnapshotDevice(text);
  ASSERT_OK_AND_ASSIGN(const auto device, devices_.Get(name, 7, text));
  EXPECT_EQ(device->costs().partition().threads, 3);
  EXPECT_EQ(device->backend(), nullptr);
  EXPECT_EQ(device->snapshot()->engine, "1");
  ASSERT_OK_AND_ASSIGN(const auto again, devices_.Get(name, 1));
  EXPECT_EQ(again, device);
}

TEST_F(DevicesTest, OfManySnapshotsThoseUsedLastAreKept) {
  const std::string text = TextOf("1"), name = SnapshotDevice(text);
  ASSERT_OK(devices_.Get(name, 1, text));
  for (int i = 2; i < 20; ++i) {
    const std::string other = TextOf(absl::StrCat(i));
    ASSERT_OK(devices_.Get(SnapshotDevice(other), 1, other));
    if (i < 15) {
      EXPECT_OK(devices_.Get(name, 1)) << i;
    }
  }
  ASSERT_OK(devices_.Get(name, 1));
  for (int i = 20; i < 40; ++i) {
    const std::string other = TextOf(absl::StrCat(i));
    ASSERT_OK(devices_.Get(SnapshotDevice(other), 1, other));
  }
  EXPECT_THAT(
      devices_.Get(name, 1),
      HasReason(Reason::kOptionInvalid, HasSubstr("is not known here: --device-snapshot FILE")));
  EXPECT_OK(devices_.Get(name, 1, text));
}

TEST_F(DevicesTest, BytesThatAreNotTheSnapshotsAreRefusedByItsName) {
  const std::string text = TextOf("1"), name = SnapshotDevice(text);
  const std::string id = SnapshotOf(name)->Text();
  EXPECT_THAT(devices_.Get(name, 1, TextOf("2")),
              HasReason(Reason::kOptionInvalid, AllOf(HasSubstr(id), HasSubstr("are others"))));
  const std::string cut = text.substr(0, 40);
  EXPECT_THAT(devices_.Get(SnapshotDevice(cut), 1, cut),
              HasReason(Reason::kOptionInvalid,
                        AllOf(HasSubstr(BlobId::Of(cut).Text()), HasSubstr("line 3: threads"))));
}

TEST_F(DevicesTest, WhatWasMeasuredIsRecordedAndCostsTheSame) {
  const model::Graph graph = Convolutions();
  ASSERT_OK_AND_ASSIGN(const timing::Snapshot before, devices_.Record("cpu", 1, 0));
  EXPECT_THAT(before.timings, IsEmpty());
  ASSERT_OK_AND_ASSIGN(const auto here, devices_.Get("cpu", 1));
  ASSERT_OK_AND_ASSIGN(const cost::GraphCost measured, PredictGraph(graph, here->costs(), {}));
  ASSERT_OK_AND_ASSIGN(const timing::Snapshot other, devices_.Record("cpu", 2, 0));
  EXPECT_THAT(other.timings, IsEmpty());
  ASSERT_OK_AND_ASSIGN(const timing::Snapshot snapshot, devices_.Record("cpu", 1, 1'000'000));
  EXPECT_EQ(snapshot.fingerprint, here->costs().fingerprint());
  EXPECT_EQ(snapshot.engine, EngineVersion());

  const std::string text = ToText(snapshot);
  ASSERT_OK_AND_ASSIGN(const auto recorded, devices_.Get(SnapshotDevice(text), 1, text));
  ASSERT_OK_AND_ASSIGN(const cost::GraphCost cost, PredictGraph(graph, recorded->costs(), {}));
  ASSERT_EQ(cost.groups.size(), measured.groups.size());
  for (size_t i = 0; i < cost.groups.size(); ++i) {
    EXPECT_EQ(cost.groups[i].spec, measured.groups[i].spec);
    EXPECT_EQ(cost.costs[i].source, measured.costs[i].source);
    EXPECT_NEAR(cost.costs[i].us, measured.costs[i].us, 1e-4 * measured.costs[i].us);
  }
}

TEST_F(DevicesTest, WhatCannotRunIsRecordedAndWhatFailedIsNot) {
  ASSERT_OK_AND_ASSIGN(const auto backend, kernels::onednn::NewBackend(1));
  const std::string fingerprint = timing::StoredFingerprint(backend->fingerprint());
  ASSERT_OK(store_->Add("k1 A", fingerprint, {timing::TimingState::kUnsupported}));
  ASSERT_OK(store_->Add("k1 B", fingerprint, {timing::TimingState::kFailed}));
  ASSERT_OK(store_->Add("k1 C", fingerprint, {timing::TimingState::kOk, 1, 2, 3, 1, 9}));
  ASSERT_OK_AND_ASSIGN(const timing::Snapshot snapshot, devices_.Record("cpu", 1, 0));
  ASSERT_EQ(snapshot.timings.size(), 2u);
  EXPECT_EQ(snapshot.timings.at("k1 A"), timing::Timing{timing::TimingState::kUnsupported});
  EXPECT_EQ(snapshot.timings.at("k1 C").min_us, 1);
}

// Devices that a test makes.
class OpenedDevicesTest : public ::testing::Test {
 protected:
  absl::StatusOr<std::unique_ptr<kernels::Backend>> Open(absl::string_view name) {
    ++opened_;
    if (name == "slow") {
      opening_.Notify();
      may_open_.WaitForNotification();
    }
    if (failures_left_-- > 0) return MakeError(Reason::kDeviceNotPresent, "not yet");
    return kernels::fake::NewFakeBackend(&clock_, {.health = [this] {
      return lost_ ? MakeError(Reason::kDeviceLost, "gone") : absl::OkStatus();
    }});
  }

  kernels::fake::FakeClock clock_;
  absl::Notification opening_, may_open_;
  std::atomic<int> opened_ = 0;
  std::atomic<int> failures_left_ = 0;
  std::atomic<bool> lost_ = false;
  std::unique_ptr<timing::TimingStore> store_ = timing::NewMemoryStore();
  timing::Lane lane_;
  const std::vector<DeviceKind> kinds_ = {
      FakeDeviceKind({"cpu", "slow"}, [this](absl::string_view name) { return Open(name); })};
  Devices devices_{{.store = store_.get(), .lane = &lane_}, kinds_};
};

TEST_F(OpenedDevicesTest, OneThatTakesLongIsOpenedOnceAndNobodyElseWaits) {
  std::shared_ptr<Device> first, second;
  std::jthread one([&] { first = *devices_.Get("slow", 1); });
  opening_.WaitForNotification();
  std::jthread two([&] { second = *devices_.Get("slow", 1); });
  EXPECT_OK(devices_.Get("cpu", 1));
  may_open_.Notify();
  one.join();
  two.join();
  EXPECT_NE(first, nullptr);
  EXPECT_EQ(first, second);
  EXPECT_EQ(opened_, 2);
}

TEST_F(OpenedDevicesTest, OneThatCannotBeOpenedIsTriedAgain) {
  failures_left_ = 1;
  EXPECT_THAT(devices_.Get("cpu", 1), HasReason(Reason::kDeviceNotPresent, HasSubstr("not yet")));
  EXPECT_OK(devices_.Get("cpu", 1));
  EXPECT_EQ(opened_, 2);
}

TEST_F(OpenedDevicesTest, OneThatIsLostStaysLost) {
  ASSERT_OK(devices_.Get("cpu", 1));
  lost_ = true;
  EXPECT_THAT(devices_.Get("cpu", 1), HasReason(Reason::kDeviceLost, HasSubstr("gone")));
  EXPECT_EQ(opened_, 1);
}

TEST_F(OpenedDevicesTest, OneThatIsOpenIsRecordedAsItIs) {
  ASSERT_OK_AND_ASSIGN(const auto device, devices_.Get("cpu", 1));
  const std::string stored = timing::StoredFingerprint(device->backend()->fingerprint());
  ASSERT_OK(store_->Add("k1 A", stored, {timing::TimingState::kOk, 1, 2, 3, 1, 9}));
  ASSERT_OK_AND_ASSIGN(const timing::Snapshot snapshot, devices_.Record("cpu", 1, 0));
  EXPECT_EQ(snapshot.fingerprint, device->costs().fingerprint());
  EXPECT_EQ(opened_, 1);
}

// A backend of a new name needs nothing but its row.
TEST_F(OpenedDevicesTest, OneOfANewKindIsPricedByItsRow) {
  ASSERT_OK_AND_ASSIGN(const auto device, devices_.Get("cpu", 1));
  may_open_.Notify();
  ASSERT_OK_AND_ASSIGN(const auto other, devices_.Get("slow", 1));
  ASSERT_OK_AND_ASSIGN(const cost::GraphCost cost,
                       PredictGraph(Convolutions(), other->costs(), {}));
  EXPECT_GT(cost.total_us, 0);
  EXPECT_THAT(devices_.Get("abacus", 1), HasReason(Reason::kDeviceNotPresent, HasSubstr("abacus")));
}

// Names that stand for devices of which some are there.
class ResolvedDevicesTest : public ::testing::Test {
 protected:
  absl::StatusOr<std::unique_ptr<kernels::Backend>> Open(absl::string_view name) {
    if (name == "absent") return MakeError(Reason::kDeviceNotPresent, "no library");
    if (name == "ill") return absl::ResourceExhaustedError("no memory");
    return kernels::fake::NewFakeBackend(&clock_, {});
  }
  static DeviceKind NameOf(const std::string& name, std::vector<std::string> stands_for) {
    return {.names = {name},
            .stands_for = std::move(stands_for),
            .help = "a choice",
            .accepts = [name](absl::string_view asked) { return asked == name; }};
  }

  kernels::fake::FakeClock clock_;
  std::unique_ptr<timing::TimingStore> store_ = timing::NewMemoryStore();
  timing::Lane lane_;
  const std::vector<DeviceKind> kinds_ = {
      NameOf("best", {"first", "second"}), NameOf("rest", {"absent", "second"}),
      NameOf("careful", {"ill", "second"}), NameOf("none", {"absent"}),
      FakeDeviceKind({"first", "second", "absent", "ill"},
                     [this](absl::string_view name) { return Open(name); })};
  Devices devices_{{.store = store_.get(), .lane = &lane_}, kinds_};
};

TEST_F(ResolvedDevicesTest, ANameStandsForTheFirstDeviceThatIsThere) {
  for (const auto& [name, device] :
       {std::pair("best", "first"), {"rest", "second"}, {"absent", "absent"}}) {
    ASSERT_OK_AND_ASSIGN(const std::string resolved, devices_.Resolve(name, 1));
    EXPECT_EQ(resolved, device);
  }
  EXPECT_THAT(devices_.Resolve("none", 1),
              HasReason(Reason::kDeviceNotPresent, HasSubstr("no library")));
}

// A job for the second choice would be another job, so what may pass is no reason for it.
TEST_F(ResolvedDevicesTest, OnlyADeviceThatIsNotThereIsPassedOver) {
  EXPECT_THAT(devices_.Resolve("careful", 1), StatusIs(absl::StatusCode::kResourceExhausted));
}

TEST_F(ResolvedDevicesTest, ADeviceIsIdentifiedByWhatItIs) {
  ASSERT_OK_AND_ASSIGN(const DeviceIdentity identity, devices_.Identify("rest", 1));
  ASSERT_OK_AND_ASSIGN(const auto device, devices_.Get("second", 1));
  EXPECT_EQ(identity, (DeviceIdentity{"second", device->backend()->fingerprint().text}));
  EXPECT_NE(identity.fingerprint, "");
  EXPECT_THAT(devices_.Identify("absent", 1), HasReason(Reason::kDeviceNotPresent));
}

TEST_F(DevicesTest, WhatIsNotMeasuredIsIdentifiedByItsName) {
  const std::string snapshot = SnapshotDevice(TextOf("1"));
  for (const std::string& name : {std::string("model:h200"), snapshot}) {
    ASSERT_OK_AND_ASSIGN(const DeviceIdentity identity, devices_.Identify(name, 1));
    EXPECT_EQ(identity, (DeviceIdentity{name, ""}));
  }
}

// Whatever the answers of a device depend on is in its fingerprint.
TEST_F(DevicesTest, AnotherNumberOfThreadsIsAnotherDevice) {
  ASSERT_OK_AND_ASSIGN(const DeviceIdentity one, devices_.Identify("cpu", 1));
  ASSERT_OK_AND_ASSIGN(const DeviceIdentity two, devices_.Identify("cpu", 2));
  EXPECT_NE(one.fingerprint, two.fingerprint);
}

TEST_F(DevicesTest, ASnapshotOfAnUnknownDeviceIsRefused) {
  for (const char* const name : {"abacus", "model:h200"}) {
    timing::Snapshot snapshot;
    snapshot.device = name;
    snapshot.partition.threads = 1;
    snapshot.fingerprint = "beads";
    snapshot.engine = "1";
    const std::string text = ToText(snapshot);
    EXPECT_THAT(devices_.Get(SnapshotDevice(text), 1, text),
                HasReason(Reason::kOptionInvalid, HasSubstr(name)));
  }
}

TEST_F(DevicesTest, ASnapshotIsNotRecorded) {
  EXPECT_THAT(devices_.Record(SnapshotDevice(TextOf("1")), 1, 0),
              HasReason(Reason::kOptionInvalid, HasSubstr("is not measured")));
}

TEST_F(DevicesTest, AModelIsNotRecorded) {
  EXPECT_THAT(devices_.Record("model:h200", 1, 0),
              HasReason(Reason::kOptionInvalid, HasSubstr("is not measured")));
}

}  // namespace
}  // namespace quotient::optimize
