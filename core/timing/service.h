#pragma once

// TimingService: asks for the time of a kernel, answers from what is known, measures the rest.
//
//   std::shared_future<Timing> time = service->Get(spec);   // at once; may not be ready
//   service->Wait(stop);                                     // until everything asked for is
//
// One computation per key: whoever asks for a key that is under way gets the same future. Measuring
// happens in batches, in the process's lane (lane.h). Where a backend knows several ways to run a
// kernel, all are timed and the fastest is the kernel's time; its plan is part of it.
//
// What a device does not have (kUnsupported) it will never have. All else that keeps a kernel from
// being timed (kFailed: no memory was left, say) may pass: who asked is told so, and who asks next
// has it measured again.

#include <cstdint>
#include <functional>
#include <future>
#include <memory>
#include <optional>
#include <string>

#include "core/base/stop.h"
#include "core/kernels/backend.h"
#include "core/kernels/kernel_spec.h"
#include "core/timing/probe.h"
#include "core/timing/protocol.h"
#include "core/timing/store.h"

namespace quotient::timing {

struct ServiceOptions {
  Protocol protocol;
  // A batch is measured when it has this many keys, when somebody waits, or after this long.
  int batch_keys = 32;
  double batch_ms = 20;
  // Threads of a kernel: what the probe has to watch.
  int threads = 1;
  // Threads that call Backend::Prepare for a batch before the lane is entered; 0: nobody does.
  int prepare_threads = 0;
  // Makes the probe of the measuring thread; empty: the system's.
  std::function<std::unique_ptr<Probe>()> make_probe;
};

// Thread-safe.
class TimingService {
 public:
  // Ends the measurement under way; futures that are not ready become kFailed.
  virtual ~TimingService() = default;

  // What is known: measured earlier or in the store, or that it failed when it was asked for last.
  // Asks for nothing.
  virtual std::optional<Timing> Find(const kernels::KernelSpec& spec) const = 0;
  // Never blocks on a measurement. Failures are timings (kUnsupported, kFailed), not errors.
  virtual std::shared_future<Timing> Get(const kernels::KernelSpec& spec) = 0;
  // Blocks until all that was asked for before the call is measured, or `stop`.
  virtual void Wait(const StopCondition& stop) = 0;
  // Keys measured so far; those answered by the store do not count.
  virtual int64_t measurements() const = 0;
};

// What the timings of a device are stored under. An older protocol's stay in the store, under
// another name.
std::string StoredFingerprint(const kernels::DeviceFingerprint& device);

// Borrows backend and store (which may be shared with other services). Timings of kernels that fail
// are not stored.
std::unique_ptr<TimingService> NewTimingService(const kernels::Backend* backend, TimingStore* store,
                                                ServiceOptions options = {});

}  // namespace quotient::timing
