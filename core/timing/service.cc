#include "core/timing/service.h"

#include <algorithm>
#include <chrono>
#include <deque>
#include <new>
#include <optional>
#include <span>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "absl/strings/str_cat.h"
#include "absl/time/time.h"
#include "core/base/log.h"
#include "core/base/monotonic_mutex.h"

namespace quotient::timing {
namespace {

// A batch ends after the kernel that was compiled when this had passed, and after the one with
// which its kernels hold this much memory.
constexpr std::chrono::milliseconds kLongestCompilation(200);
constexpr int64_t kMostBytes = int64_t{1} << 26;

// How a kernel is timed on one thread. Few samples do, because CPU time is hardly disturbed.
constexpr Protocol kOnOneThread{
    .max_rounds = 7, .min_clean_samples = 3, .budget_us = 10'000, .max_retries = 0};

// A kernel that is being measured or waits to be.
struct Request {
  std::string key;
  kernels::KernelSpec spec;
  std::promise<Timing> promise;
};

std::shared_future<Timing> Ready(const Timing& timing) {
  std::promise<Timing> promise;
  promise.set_value(timing);
  return promise.get_future().share();
}

bool IsReady(const std::shared_future<Timing>& future) {
  return future.wait_for(std::chrono::seconds(0)) == std::future_status::ready;
}

bool HasFailed(const std::shared_future<Timing>& future) {
  return IsReady(future) && future.get().state == TimingState::kFailed;
}

// Whether a timing of an earlier process is good for ever. A noisy one is measured again, since the
// disturbance may have ended.
bool IsFinal(const Timing& timing) {
  return timing.state == TimingState::kOk || timing.state == TimingState::kUnsupported;
}

// Lowers a timing of a kernel on several threads to what it takes on one, if that is less.
void BoundBy(const Timing& on_one_thread, Timing* timing) {
  // What it takes several threads to begin and end together while they have their cores: 0.5 to 2.1
  // us with two threads. Without it, kernels of a microsecond would look better than they are.
  constexpr double kTogetherUs = 2;
  if (!on_one_thread.has_time()) return;
  timing->min_us = std::min(timing->min_us, on_one_thread.min_us + kTogetherUs);
  timing->q25_us = std::min(timing->q25_us, on_one_thread.q25_us + kTogetherUs);
  timing->median_us = std::min(timing->median_us, on_one_thread.median_us + kTogetherUs);
  timing->relative_spread = timing->min_us > 0 ? timing->q25_us / timing->min_us - 1 : 0;
}

class Service : public TimingService {
 public:
  Service(const kernels::Backend* backend, TimingStore* store, Lane* lane, ServiceOptions options)
      : backend_(backend),
        store_(store),
        lane_(*lane),
        options_(std::move(options)),
        fingerprint_(StoredFingerprint(backend->fingerprint())),
        thread_([this] { MeasureUntilEnd(); }) {}

  ~Service() override {
    cancel_.Cancel();
    const MonotonicMutexLock lock(&mutex_);
    ending_ = true;
  }

  std::optional<Timing> Find(const kernels::KernelSpec& spec) const override {
    const std::string key = kernels::KernelKey(spec);
    {
      const MonotonicMutexLock lock(&mutex_);
      const auto found = futures_.find(key);
      if (found != futures_.end() && IsReady(found->second)) return found->second.get();
    }
    return store_->Find(key, fingerprint_);
  }

  std::shared_future<Timing> Get(const kernels::KernelSpec& spec) override {
    std::string key = kernels::KernelKey(spec);
    const MonotonicMutexLock lock(&mutex_);
    const auto found = futures_.find(key);
    if (found != futures_.end() && !HasFailed(found->second)) return found->second;
    const std::optional<Timing> known = store_->Find(key, fingerprint_);
    if (known.has_value() && IsFinal(*known)) return futures_[key] = Ready(*known);
    Request request{key, spec, {}};
    const std::shared_future<Timing> future = request.promise.get_future().share();
    futures_[key] = future;
    queue_.push_back(std::move(request));
    ++num_requested_;
    return future;
  }

  void Wait(const StopCondition& stop) override {
    const absl::Duration step = absl::Milliseconds(20);
    const MonotonicMutexLock lock(&mutex_);
    ++waiting_;
    // Requests are answered in the order of arrival, so later requests of other callers need not be
    // waited for.
    const int64_t wanted = num_requested_;
    const auto done = [this, wanted]()
                          ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_) { return num_answered_ >= wanted; };
    while (!stop.ShouldStop() && !mutex_.AwaitFor(done, step)) {
    }
    --waiting_;
  }

  void GiveWay(const StopCondition& stop) override {
    if (options_.needs_quiet) lane_.AwaitNoQuiet(stop);
  }

  int64_t measurements() const override {
    const MonotonicMutexLock lock(&mutex_);
    return measurements_;
  }

 private:
  // The loop of the measuring thread.
  void MeasureUntilEnd() {
    const std::unique_ptr<os::Probe> probe =
        options_.make_probe ? options_.make_probe() : os::NewSystemProbe(options_.threads);
    while (true) {
      std::vector<Request> batch = TakeBatch();
      if (batch.empty()) return;
      Measure(batch, *probe);
    }
  }

  // Blocks until there is a batch worth measuring. At the end of the service, answers all queued
  // requests with kFailed and returns an empty batch.
  std::vector<Request> TakeBatch() {
    const MonotonicMutexLock lock(&mutex_);
    const auto any = [this]() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_) {
      return ending_ || !queue_.empty();
    };
    const auto enough = [this]() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_) {
      return ending_ || waiting_ > 0 || static_cast<int>(queue_.size()) >= options_.batch_keys;
    };
    mutex_.Await(any);
    mutex_.AwaitFor(enough, absl::Milliseconds(options_.batch_ms));
    if (ending_) {
      for (Request& request : queue_) request.promise.set_value(Timing{});
      num_answered_ += static_cast<int64_t>(queue_.size());
      queue_.clear();
      return {};
    }
    std::vector<Request> batch;
    while (!queue_.empty() && static_cast<int>(batch.size()) < options_.batch_keys) {
      batch.push_back(std::move(queue_.front()));
      queue_.pop_front();
    }
    return batch;
  }

  void Measure(std::vector<Request>& batch, os::Probe& probe) {
    std::vector<Timing> timings(batch.size());
    if (!backend_->health().ok()) return Answer(batch, timings);
    try {
      Prepare(batch);
      std::vector<bool> done(batch.size(), true);
      lane_.Run([&] { done = TimeInLane(batch, probe, &timings); });
      Requeue(done, &batch, &timings);
    } catch (const std::bad_alloc&) {
      // Callers are still answered; kernels that have no timing yet count as kFailed.
      Log().warn("no memory is left to time kernels with");
    }
    if (cancel_.cancelled()) std::fill(timings.begin(), timings.end(), Timing{});
    Answer(batch, timings);
  }

  // Takes the requests that are not done out of the batch, and puts them back at the front of the
  // queue. All lists are parallel.
  void Requeue(const std::vector<bool>& done, std::vector<Request>* batch,
               std::vector<Timing>* timings) {
    std::vector<Request> answered;
    std::vector<Timing> results;
    const MonotonicMutexLock lock(&mutex_);
    for (size_t i = batch->size(); i-- > 0;) {
      if (done[i]) {
        answered.push_back(std::move((*batch)[i]));
        results.push_back((*timings)[i]);
      } else {
        queue_.push_front(std::move((*batch)[i]));
      }
    }
    *batch = std::move(answered);
    *timings = std::move(results);
  }

  bool HasQueue() const {
    const MonotonicMutexLock lock(&mutex_);
    return !queue_.empty();
  }

  void Prepare(const std::vector<Request>& batch) const {
    std::vector<kernels::KernelSpec> specs;
    for (const Request& request : batch) specs.push_back(request.spec);
    backend_->Prepare(specs, StopCondition(&cancel_));
  }

  // Returns which requests are done. Compiling a kernel may take seconds, so the rest is left for
  // later if urgent work waits for the lane, or if those so far have taken so long that callers
  // with a deadline would get none of the batch in time, or hold much memory. Urgent work ends the
  // sampling, too.
  std::vector<bool> TimeInLane(const std::vector<Request>& batch, os::Probe& probe,
                               std::vector<Timing>* timings) {
    const auto start = std::chrono::steady_clock::now();
    std::vector<bool> done(batch.size(), true);
    std::vector<std::unique_ptr<kernels::CompiledKernel>> compiled;
    std::vector<kernels::CompiledKernel*> kernels;
    std::vector<size_t> positions;  // Parallel to `kernels`: indices into the batch.
    int64_t bytes = 0;              // What the kernels hold.
    for (size_t i = 0; i < batch.size() && !cancel_.cancelled(); ++i) {
      const auto spent = std::chrono::steady_clock::now() - start;
      if (i > 0 && (lane_.HasUrgent() || spent > kLongestCompilation || bytes > kMostBytes)) {
        std::fill(done.begin() + static_cast<ptrdiff_t>(i), done.end(), false);
        break;
      }
      auto ways = backend_->Compile(batch[i].spec);
      if (absl::IsUnimplemented(ways.status())) {
        (*timings)[i].state = TimingState::kUnsupported;
      } else if (!ways.ok()) {
        Log().warn("{}: not timed: {}", batch[i].key, std::string(ways.status().message()));
      }
      if (!ways.ok()) continue;
      for (auto& kernel : *ways) {
        bytes += kernel->bytes();
        compiled.push_back(std::move(kernel));
        kernels.push_back(compiled.back().get());
        positions.push_back(i);
      }
    }
    bool gave_way = false;
    const bool others_wait = std::ranges::find(done, false) != done.end() || HasQueue();
    Protocol protocol = options_.protocol;
    // Then few noisy kernels are timed again, but not many: on a busy machine noisy times of all
    // kernels are worth more than good ones of half of them.
    constexpr double kFew = 0.25;
    if (others_wait) protocol.most_noisy = kFew;
    const std::vector<Timing> results = Time(kernels, probe, protocol, &gave_way);
    for (size_t k = 0; k < results.size(); ++k) {
      Timing& best = (*timings)[positions[k]];
      if (IsBetter(results[k], best)) best = results[k];
      // A way that was not timed to the end may be the fastest.
      if (gave_way && results[k].state != TimingState::kOk) done[positions[k]] = false;
    }
    if (options_.bounds_by_one_thread) BoundNoisyOnes(batch, timings, &done);
    return done;
  }

  // Bounds noisy timings of kernels on several threads by their times on one. Where urgent work
  // comes between, the rest is not done.
  void BoundNoisyOnes(const std::vector<Request>& batch, std::vector<Timing>* timings,
                      std::vector<bool>* done) {
    const std::unique_ptr<os::Probe> probe = options_.make_probe_of_one_thread
                                                 ? options_.make_probe_of_one_thread()
                                                 : os::NewSystemProbe(1);
    for (size_t i = 0; i < batch.size(); ++i) {
      Timing& timing = (*timings)[i];
      kernels::KernelSpec spec = batch[i].spec;
      if (!(*done)[i] || timing.state != TimingState::kNoisy || spec.threads <= 1) continue;
      spec.threads = 1;
      auto ways = backend_->Compile(spec);
      if (!ways.ok()) continue;
      std::vector<kernels::CompiledKernel*> kernels;
      for (const auto& way : *ways) kernels.push_back(way.get());
      bool gave_way = false;
      for (const Timing& each : Time(kernels, *probe, kOnOneThread, &gave_way)) {
        BoundBy(each, &timing);
      }
      if (gave_way) (*done)[i] = false;
    }
  }

  // Sets *gave_way to whether urgent work ended the sampling.
  std::vector<Timing> Time(std::span<kernels::CompiledKernel* const> kernels, os::Probe& probe,
                           const Protocol& protocol, bool* gave_way) {
    std::optional<Lane::Quiet> quiet;
    if (options_.needs_quiet) quiet.emplace(&lane_);
    return TimeBatch(kernels, protocol, probe, [&] {
      *gave_way |= lane_.HasUrgent();
      return *gave_way || cancel_.cancelled();
    });
  }

  void Answer(std::vector<Request>& batch, const std::vector<Timing>& timings) {
    for (size_t i = 0; i < batch.size(); ++i) {
      if (timings[i].state != TimingState::kFailed) Remember(batch[i].key, timings[i]);
      const std::optional<Timing> known = store_->Find(batch[i].key, fingerprint_);
      const bool was_better = known.has_value() && IsBetter(*known, timings[i]);
      batch[i].promise.set_value(was_better ? *known : timings[i]);
    }
    const MonotonicMutexLock lock(&mutex_);
    measurements_ += static_cast<int64_t>(batch.size());
    num_answered_ += static_cast<int64_t>(batch.size());
  }

  void Remember(const std::string& key, const Timing& timing) {
    const absl::Status stored = store_->Add(key, fingerprint_, timing);
    if (!stored.ok() && !has_warned_)
      Log().warn("kernel timings cannot be kept: {}", std::string(stored.message()));
    has_warned_ = !stored.ok();
  }

  const kernels::Backend* const backend_;
  TimingStore* const store_;
  Lane& lane_;
  const ServiceOptions options_;
  const std::string fingerprint_;
  CancelToken cancel_;
  bool has_warned_ = false;  // Whether the last timing could not be stored, which was logged.

  mutable MonotonicMutex mutex_;
  absl::flat_hash_map<std::string, std::shared_future<Timing>> futures_ ABSL_GUARDED_BY(mutex_);
  std::deque<Request> queue_ ABSL_GUARDED_BY(mutex_);
  int64_t num_requested_ ABSL_GUARDED_BY(mutex_) = 0;  // Requests ever put into the queue.
  int64_t num_answered_ ABSL_GUARDED_BY(mutex_) =
      0;                                     // How many of these, from the first, are ready.
  int waiting_ ABSL_GUARDED_BY(mutex_) = 0;  // Callers inside Wait.
  bool ending_ ABSL_GUARDED_BY(mutex_) = false;
  int64_t measurements_ ABSL_GUARDED_BY(mutex_) = 0;

  std::jthread thread_;  // Declared last: joined before the members it uses are destroyed.
};

}  // namespace

std::string StoredFingerprint(const kernels::DeviceFingerprint& device) {
  return absl::StrCat(device.text, "; protocol ", kProtocolVersion);
}

std::unique_ptr<TimingService> NewTimingService(const kernels::Backend* backend, TimingStore* store,
                                                Lane* lane, ServiceOptions options) {
  return std::make_unique<Service>(backend, store, lane, std::move(options));
}

}  // namespace quotient::timing
