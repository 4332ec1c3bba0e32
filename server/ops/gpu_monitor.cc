#include "server/ops/gpu_monitor.h"

#include <thread>
#include <utility>

#include "absl/base/thread_annotations.h"
#include "absl/time/time.h"
#include "core/base/monotonic_mutex.h"

namespace quotient::ops {

// Belongs to the monitor and to its thread, which may outlive it.
struct GpuMonitor::State {
  explicit State(const Clock* used) : clock(*used) {}

  const Clock& clock;
  MonotonicMutex mutex;
  std::vector<GpuSample> samples ABSL_GUARDED_BY(mutex);
  int64_t read_ns ABSL_GUARDED_BY(mutex) = 0;    // When the samples were read.
  bool is_wanted ABSL_GUARDED_BY(mutex) = true;  // Whether newer ones are being read.
  bool is_late ABSL_GUARDED_BY(mutex) = false;   // Whether somebody has waited for them.
  bool is_ending ABSL_GUARDED_BY(mutex) = false;
  bool has_ended ABSL_GUARDED_BY(mutex) = false;  // The thread.
};

GpuMonitor::GpuMonitor(const std::string& library, const Clock* clock)
    : state_(std::make_shared<State>(clock)) {
  // It is not joined, because it may hang for ever.
  std::thread([state = state_, library] {
    Watch(*state, library);
    const MonotonicMutexLock lock(&state->mutex);
    state->has_ended = true;
  }).detach();
}

GpuMonitor::~GpuMonitor() {
  constexpr absl::Duration kPatience = absl::Seconds(2);
  const MonotonicMutexLock lock(&state_->mutex);
  state_->is_ending = true;
  const auto has_ended = [this]() ABSL_EXCLUSIVE_LOCKS_REQUIRED(state_->mutex) {
    return state_->has_ended;
  };
  state_->mutex.AwaitFor(has_ended, kPatience);
}

void GpuMonitor::Watch(State& state, const std::string& library) {
  const std::unique_ptr<Nvml> nvml = OpenNvml(library);
  if (nvml == nullptr) return;
  const auto has_work = [&state]() ABSL_EXCLUSIVE_LOCKS_REQUIRED(state.mutex) {
    return state.is_wanted || state.is_ending;
  };
  for (;;) {
    {
      const MonotonicMutexLock lock(&state.mutex);
      state.mutex.Await(has_work);
      if (state.is_ending) return;
    }
    const int64_t read_ns = state.clock.NowNs();
    std::vector<GpuSample> samples = nvml->Read();
    const MonotonicMutexLock lock(&state.mutex);
    state.samples = std::move(samples);
    state.read_ns = read_ns;
    state.is_wanted = state.is_late = false;
  }
}

std::vector<GpuSample> GpuMonitor::Latest() const {
  constexpr absl::Duration kPatience = absl::Milliseconds(200);
  State& state = *state_;
  const MonotonicMutexLock lock(&state.mutex);
  const int64_t age_ms = (state.clock.NowNs() - state.read_ns) / 1'000'000;
  if (age_ms >= kLeastMs) state.is_wanted = true;
  const auto is_answered = [&state]() ABSL_EXCLUSIVE_LOCKS_REQUIRED(state.mutex) {
    return !state.is_wanted || state.has_ended;
  };
  if (state.is_wanted && !std::exchange(state.is_late, true)) {
    state.mutex.AwaitFor(is_answered, kPatience);
  }
  return state.is_wanted ? std::vector<GpuSample>() : state.samples;
}

}  // namespace quotient::ops
