#pragma once

// A simulated device. Its kernels take as long as a function says, measured by a clock that only
// they move, and which executables read; they claim to hold as much memory as their outputs take.
// Results of whole graphs are correct, because the reference evaluator computes them. For tests of
// everything above the backends; deterministic.

#include <atomic>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "core/base/clock.h"
#include "core/kernels/backend.h"

namespace quotient::kernels::fake {

// A clock that moves only when told to. Thread-safe.
class FakeClock : public Clock {
 public:
  int64_t NowNs() const override { return now_ns_.load(); }
  int64_t UnixMs() const override { return now_ns_.load() / 1'000'000; }
  void Advance(double us) { now_ns_ += static_cast<int64_t>(us * 1e3); }

 private:
  std::atomic<int64_t> now_ns_{0};
};

// A way to run every kernel that takes `factor` times as long as it otherwise would.
struct FakePlan {
  std::string name;
  double factor = 1;
};

struct FakeOptions {
  std::string fingerprint = "fake; one core";
  int threads = 1;
  // The time of run number `run` (from 0) of a kernel. An error becomes the result of compiling it.
  std::function<absl::StatusOr<double>(const KernelSpec& spec, int run)> run_us;
  std::vector<FakePlan> plans = {{}};
  std::function<absl::Status()> health;  // Empty: always OK.
  bool runs_files = false;
  // Whether other work disturbs a run of a whole graph, asked after each. Empty: never.
  std::function<bool()> disturbed;
  // By how much a run of a whole graph takes longer than its kernels. Empty: not at all.
  std::function<double(const model::Graph& graph)> overhead_us;
};

// The default time of a kernel, which depends only on the spec: a gap of 1 us, 10 ps per byte, 5 ps
// per multiply-add of a contraction, and half as much again if the operands are not channels last.
double FakeCostUs(const KernelSpec& spec);

// Borrows the clock.
std::unique_ptr<Backend> NewFakeBackend(FakeClock* clock, FakeOptions options = {});

}  // namespace quotient::kernels::fake
