#pragma once

// TimingService returns the times of kernels: from the store if they are known, else by measuring.
//
//   std::shared_future<Timing> time = service->Get(spec);   // Returns at once; may not be ready.
//   service->Wait(stop);                                    // Until everything asked for is ready.
//
// Each kernel is measured once: a caller that asks for a kernel that is being measured gets the
// same future. Kernels are measured in batches, in the timing lane (lane.h). A batch ends early if
// urgent work waits for the lane; those of its kernels that are not done by then are measured
// later. If a backend has several ways to run a kernel, all are timed, and the kernel's timing is
// that of the fastest, with its plan.
//
// Where other work never ends, a kernel on several threads may never have all its cores at once. It
// is timed on one thread then, too, whose CPU time other work hardly changes, and costs no more
// than that and what it takes threads to begin and end together
// (ServiceOptions::bounds_by_one_thread). So it costs at most about as many times too much as there
// are threads. The timing stays noisy: when an earlier process has left it, it is measured again
// when it is asked for, and until then it stands.
//
// That a device does not support a kernel (kUnsupported) is permanent and is stored. Any other
// failure (kFailed, for instance for lack of memory) may be temporary: it is returned to those who
// have asked so far, and the next Get measures again.

#include <cstdint>
#include <functional>
#include <future>
#include <memory>
#include <optional>
#include <string>

#include "core/base/stop.h"
#include "core/kernels/backend.h"
#include "core/kernels/kernel_spec.h"
#include "core/os/probe.h"
#include "core/timing/lane.h"
#include "core/timing/protocol.h"
#include "core/timing/store.h"

namespace quotient::timing {

struct ServiceOptions {
  Protocol protocol;
  // A batch is measured when it has batch_keys keys, when a caller is in Wait, or after batch_ms.
  int batch_keys = 32;
  double batch_ms = 20;
  // Number of threads that a kernel uses, on which the kind of probe depends.
  int threads = 1;
  // Whether computations on other threads of this process make kernels slower, so that they should
  // call GiveWay.
  bool needs_quiet = false;
  // Whether the backend runs a kernel on as many threads as its spec says, all of them of this
  // process, so that noisy timings of kernels on several threads can be bounded by those on one.
  bool bounds_by_one_thread = false;
  // Makes the probe of the measuring thread; if empty, os::NewSystemProbe is used.
  std::function<std::unique_ptr<os::Probe>()> make_probe;
  // The same for kernels on one thread, by which others are bounded.
  std::function<std::unique_ptr<os::Probe>()> make_probe_of_one_thread;
};

// Thread-safe.
class TimingService {
 public:
  // Ends the measurement in progress. Futures that are not ready become kFailed.
  virtual ~TimingService() = default;

  // Returns the timing if it was measured or is in the store, or the failure of the last attempt.
  // Never starts a measurement.
  virtual std::optional<Timing> Find(const kernels::KernelSpec& spec) const = 0;
  // Requests the timing. Never blocks on a measurement. Failures are timings (kUnsupported,
  // kFailed), not errors.
  virtual std::shared_future<Timing> Get(const kernels::KernelSpec& spec) = 0;
  // Blocks until everything requested before the call is ready, or `stop` is set.
  virtual void Wait(const StopCondition& stop) = 0;
  // Blocks while kernels run that the caller's computation would disturb, or until `stop`.
  virtual void GiveWay(const StopCondition& stop) = 0;
  // Number of requests that went to the measuring thread and were answered, including failures.
  // Those answered from the store do not count.
  virtual int64_t measurements() const = 0;
};

// Returns the fingerprint under which a device's timings are stored. It includes the protocol's
// version, so timings of an older protocol stay in the store but are not found.
std::string StoredFingerprint(const kernels::DeviceFingerprint& device);

// Borrows the backend, and the store and the lane, which may be shared with other services.
std::unique_ptr<TimingService> NewTimingService(const kernels::Backend* backend, TimingStore* store,
                                                Lane* lane, ServiceOptions options = {});

}  // namespace quotient::timing
