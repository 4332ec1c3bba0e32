#pragma once

// Gpu: what the CUDA plug-in does for the rest of the backend, and the only thing that it does:
// memory, launches of library kernels and of our own, replay of what was captured. What to launch,
// where buffers lie and how times are taken is decided outside, so that it can be tested without a
// GPU (tests/support/cuda has an implementation on the host).
//
// The plug-in is built by the same compiler from the same sources as the program that loads it
// (plugin.h checks that), so C++ types cross.

#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "core/kernels/cuda/code_cache.h"
#include "core/kernels/cuda/dnn_graph.h"
#include "core/kernels/cuda/matmul_problem.h"
#include "core/kernels/cuda/source_kernel.h"

namespace quotient::kernels::cuda {

// What names a GPU and makes timings on it comparable. From the driver; nothing is ever guessed: a
// fact that cannot be had is an error of OpenGpu, save those of NVML.
struct GpuFacts {
  std::string name;            // "NVIDIA H200"
  int compute_capability = 0;  // 90: 9.0
  int processors = 0;          // streaming multiprocessors
  int64_t memory_bytes = 0;
  int64_t l2_bytes = 0;
  int bus_bits = 0;
  int max_clock_khz = 0;  // of the multiprocessors
  int max_memory_clock_khz = 0;
  bool ecc = false;
  // "" where NVML is missing.
  std::string power_limit_watts;
  std::string mig_mode;  // "on", "off"
  // $NVIDIA_TF32_OVERRIDE: "0" switches TF32 off in all of NVIDIA's libraries. "" if not set.
  std::string tf32_override;
  std::string driver;  // "580.159.04"; "" where NVML is missing
  // Versions as the libraries give them: 13000, 91900, ...; the driver's is that of the newest CUDA
  // it is for.
  int driver_version = 0;
  int runtime_version = 0;
  int cudnn_version = 0;
  int cublaslt_version = 0;
  int nvrtc_version = 0;
  // As device-less cuDNN wants it (DnnChecker).
  std::string properties_json;
};

// An address on the device.
using DeviceAddress = uint64_t;

// Device memory, freed with the object.
class Buffer {
 public:
  virtual ~Buffer() = default;
  virtual DeviceAddress address() const = 0;
};

// Work on the host in the middle of a sequence: reads and writes host memory, and does nothing with
// the device. Buffers in order: inputs, then outputs.
struct HostCall {
  std::vector<int64_t> input_bytes;
  std::vector<int64_t> output_bytes;
  std::function<void(std::span<const void* const> inputs, std::span<void* const> outputs)> run;
};

// A kernel of a library, or one of ours, compiled and ready to be launched. Immutable.
class Launcher {
 public:
  virtual ~Launcher() = default;
  // Device memory that it needs while it runs.
  virtual int64_t workspace_bytes() const = 0;
};

// One launch of a sequence that is captured.
struct Step {
  const Launcher* launcher = nullptr;
  std::vector<DeviceAddress> buffers;  // in the launcher's order
  DeviceAddress workspace = 0;
  // Steps on one lane run one after the other; a step on another lane waits only for those in
  // `after`, which come earlier in the sequence.
  int lane = 0;
  std::vector<int> after;
};

// How long a replay took, by the device's own clock.
struct Reading {
  double us = 0;
};

// A captured sequence. One thread at a time.
class Replay {
 public:
  virtual ~Replay() = default;
  // Blocks until done. DEVICE_LOST if a kernel failed (Gpu::health).
  virtual absl::StatusOr<Reading> Run() = 0;
};

// One GPU, opened. Thread-safe, but for what Buffers, Replays and uploads are about to read or
// write, which is the caller's to order. Buffers, Launchers and Replays must not outlive it.
class Gpu {
 public:
  virtual ~Gpu() = default;

  virtual const GpuFacts& facts() const = 0;

  // DEVICE_LOST, with what CUDA said first, once that is of the kind that no process outlives: an
  // illegal address, a failed launch, memory beyond correction. Every call fails from then on.
  virtual absl::Status health() const = 0;

  // Of the multiprocessors, now, in MHz; 0: NVML is missing. May take longer than a replay.
  virtual int ClockMhz() = 0;

  // At an address that is a multiple of 256. RESOURCE_EXHAUSTED.
  virtual absl::StatusOr<std::unique_ptr<Buffer>> Allocate(int64_t bytes) = 0;
  // Block until done.
  virtual absl::Status Upload(DeviceAddress to, const void* from, int64_t bytes) = 0;
  virtual absl::Status Download(void* to, DeviceAddress from, int64_t bytes) = 0;

  // The ways in which a library can run it that its policy allows, the library's own first choice
  // first, by names that are the same in every process with the same library versions. Empty: it
  // cannot. Milliseconds.
  virtual absl::StatusOr<std::vector<LibraryPlan>> Plans(const MatmulProblem& problem) = 0;
  virtual absl::StatusOr<std::vector<LibraryPlan>> Plans(const DnnGraph& graph) = 0;

  // Compiles; some 50 ms for a kernel of ours, up to three seconds for one that cuDNN compiles at
  // run time, a few milliseconds for what the cache has. UNIMPLEMENTED if the library does not have
  // the plan after all.
  virtual absl::StatusOr<std::unique_ptr<Launcher>> Prepare(const SourceKernel& kernel) = 0;
  virtual absl::StatusOr<std::unique_ptr<Launcher>> Prepare(const MatmulProblem& problem,
                                                            const std::string& plan) = 0;
  virtual absl::StatusOr<std::unique_ptr<Launcher>> Prepare(const DnnGraph& graph,
                                                            const std::string& plan) = 0;

  // Copies to the host, the call, copies back. The launcher owns the host's side: it may be in one
  // Replay at a time.
  virtual absl::StatusOr<std::unique_ptr<Launcher>> Prepare(HostCall call) = 0;

  // The steps' launchers must outlive the replay.
  virtual absl::StatusOr<std::unique_ptr<Replay>> Capture(std::span<const Step> steps) = 0;
};

// Asks cuDNN which plans there are, without a device: by a description of one. For tests and for
// rules that must know what is legal on hosts without a GPU. Thread-safe.
class DnnChecker {
 public:
  virtual ~DnnChecker() = default;
  virtual absl::StatusOr<std::vector<LibraryPlan>> Plans(const DnnGraph& graph) = 0;
  // Builds the plan as far as a machine without a driver can: precompiled engines completely.
  virtual absl::Status Build(const DnnGraph& graph, const std::string& plan) = 0;
  // Builds it, and executes it without a handle on `buffers` addresses that are none: what cuDNN
  // says to that. It looks at the buffers first, so that a wrong number of them is told.
  virtual absl::Status ExecuteWithoutHandle(const DnnGraph& graph, const std::string& plan,
                                            int buffers) = 0;
};

// What the shared library offers. `cache` keeps what is compiled; null: nothing does. Borrowed.
class Plugin {
 public:
  virtual ~Plugin() = default;
  // DEVICE_NOT_PRESENT: no driver, no such GPU, a driver or library that is too old; the message
  // says which and what is needed. DEVICE_LOST: the GPU has failed in this process before.
  virtual absl::StatusOr<std::unique_ptr<Gpu>> OpenGpu(int ordinal, CodeCache* cache) = 0;
  // `properties_json`: GpuFacts::properties_json of the device that is asked about.
  virtual absl::StatusOr<std::unique_ptr<DnnChecker>> NewDnnChecker(
      const std::string& properties_json, int compute_capability, CodeCache* cache) = 0;
  // NVRTC: machine code for "sm_<compute_capability>". INVALID_ARGUMENT with the compiler's log.
  virtual absl::StatusOr<std::string> CompileSource(const SourceKernel& kernel,
                                                    int compute_capability, CodeCache* cache) = 0;
};

}  // namespace quotient::kernels::cuda
