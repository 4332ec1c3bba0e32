#pragma once

// A device that does not exist: its kernels take as long as a function says, by a clock that only
// they move. Results of whole graphs are right (the reference evaluator computes them). For tests
// of everything above the backends; deterministic.

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

// Moves only when told to. Thread-safe.
class FakeClock : public Clock {
 public:
  int64_t NowNs() const override { return now_ns_.load(); }
  int64_t UnixMs() const override { return now_ns_.load() / 1'000'000; }
  void Advance(double us) { now_ns_ += static_cast<int64_t>(us * 1e3); }

 private:
  std::atomic<int64_t> now_ns_{0};
};

// A way to run every kernel: takes `factor` times as long as kernels do.
struct FakePlan {
  std::string name;
  double factor = 1;
};

struct FakeOptions {
  std::string fingerprint = "fake; one core";
  int threads = 1;
  // What run number `run` (from 0) of a kernel takes; an error is what compiling it answers.
  std::function<absl::StatusOr<double>(const KernelSpec& spec, int run)> run_us;
  std::vector<FakePlan> plans = {{}};
  std::function<absl::Status()> health;  // empty: always OK
};

// What a kernel takes unless told otherwise: depends on the spec alone. A gap of 1 us, a byte per
// 10 ps, a multiply-add of a contraction per 5 ps, half the time again where the operands are not
// channels last.
double FakeCostUs(const KernelSpec& spec);

// Borrows the clock.
std::unique_ptr<Backend> NewFakeBackend(FakeClock* clock, FakeOptions options = {});

}  // namespace quotient::kernels::fake
