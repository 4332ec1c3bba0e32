// The timing cache: how long TimingService::Find takes for kernels whose times are known. "p99_us"
// and "p50_us" are of single calls, each timed by itself, as the mean of the threads; they include
// some 50 ns for reading the clock.
//
//   timing_cache_bench --benchmark_filter=Latency

#include <benchmark/benchmark.h>

#include <algorithm>
#include <chrono>
#include <memory>
#include <utility>
#include <vector>

#include "core/kernels/kernel_spec.h"
#include "core/timing/lane.h"
#include "core/timing/service.h"
#include "core/timing/store.h"
#include "tests/support/fake_backend.h"

namespace quotient::timing {
namespace {

constexpr int64_t kKernels = 1'000;

kernels::Operand Floats(std::vector<int64_t> dims, bool constant = false) {
  return {model::StaticType(model::DType::kFloat32, dims), constant};
}

// A convolution with bias and activation, one of the longer descriptions.
kernels::KernelSpec Conv(int64_t channels) {
  kernels::KernelSpec spec = kernels::MakeSpec(
      "Conv",
      {{"group", int64_t{1}}, {"pads", model::Ints{1, 1, 1, 1}}, {"strides", model::Ints{1, 1}}},
      {Floats({1, channels, 56, 56}), Floats({64, channels, 3, 3}, true), Floats({64}, true)},
      {model::StaticType(model::DType::kFloat32, std::vector<int64_t>{1, 64, 56, 56})}, 1, 26);
  spec.epilogue.push_back({.op = "Relu"});
  return spec;
}

kernels::KernelSpec MatMul(int64_t columns) {
  return kernels::MakeSpec(
      "MatMul", {}, {Floats({1, 128, 768}), Floats({768, columns}, true)},
      {model::StaticType(model::DType::kFloat32, std::vector<int64_t>{1, 128, columns})}, 1, 26);
}

// A service that knows the times of some kernels from its store.
class KnownKernels {
 public:
  KnownKernels()
      : backend_(NewFakeBackend(&clock_)),
        store_(NewMemoryStore()),
        service_(NewTimingService(backend_.get(), store_.get(), &lane_)) {
    for (int64_t i = 1; i <= kKernels / 2; ++i) {
      specs_.push_back(Conv(i));
      specs_.push_back(MatMul(i));
    }
    const std::string fingerprint = StoredFingerprint(backend_->fingerprint());
    for (const kernels::KernelSpec& spec : specs_) {
      const Timing timing = {TimingState::kOk, 5, 6, 6, 0.1, 9};
      if (!store_->Add(kernels::KernelKey(spec), fingerprint, timing).ok()) specs_.clear();
    }
  }

  // May be called by any thread, with any number.
  const kernels::KernelSpec& spec(int64_t i) const {
    return specs_[static_cast<size_t>(i) % specs_.size()];
  }
  bool Find(const kernels::KernelSpec& spec) const { return service_->Find(spec).has_value(); }

  static const KnownKernels& Shared() {
    static const auto& shared = *new KnownKernels;
    return shared;
  }

 private:
  kernels::fake::FakeClock clock_;
  Lane lane_;
  std::unique_ptr<kernels::Backend> backend_;
  std::unique_ptr<TimingStore> store_;
  std::unique_ptr<TimingService> service_;
  std::vector<kernels::KernelSpec> specs_;
};

void BM_Hit(benchmark::State& state) {
  const KnownKernels& known = KnownKernels::Shared();
  int64_t i = 97 * state.thread_index();
  for (auto _ : state) {
    if (!known.Find(known.spec(++i))) state.SkipWithError("not found");
  }
  state.SetItemsProcessed(state.iterations());
}
BENCHMARK(BM_Hit)->Threads(1)->Threads(2)->Threads(8)->UseRealTime();

double Quantile(std::vector<double>& sorted, double share) {
  return sorted[static_cast<size_t>(share * static_cast<double>(sorted.size() - 1))];
}

void BM_Latency(benchmark::State& state) {
  using Clock = std::chrono::steady_clock;
  const KnownKernels& known = KnownKernels::Shared();
  int64_t i = 97 * state.thread_index();
  std::vector<double> us;
  us.reserve(static_cast<size_t>(state.max_iterations));
  for (auto _ : state) {
    const kernels::KernelSpec& spec = known.spec(++i);
    const Clock::time_point start = Clock::now();
    if (!known.Find(spec)) state.SkipWithError("not found");
    us.push_back(std::chrono::duration<double, std::micro>(Clock::now() - start).count());
  }
  std::ranges::sort(us);
  using benchmark::Counter;
  state.counters["p50_us"] = Counter(Quantile(us, 0.5), Counter::kAvgThreads);
  state.counters["p99_us"] = Counter(Quantile(us, 0.99), Counter::kAvgThreads);
}
BENCHMARK(BM_Latency)->Threads(1)->Threads(8)->UseRealTime();

}  // namespace
}  // namespace quotient::timing
