#pragma once

// Gpu: the interface that the CUDA plug-in implements for the rest of the backend: memory, launches
// of library kernels and of Quotient's own, and replay of captured sequences. What to launch, where
// buffers lie and how times are measured is decided outside, so that it can be tested without a GPU
// (tests/support/cuda has an implementation on the host).
//
// The plug-in is built by the same compiler from the same sources as the program that loads it
// (plugin.h checks this), so C++ types may cross the border.

#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "core/kernels/cuda/interface/code_cache.h"
#include "core/kernels/cuda/interface/dnn_graph.h"
#include "core/kernels/cuda/interface/matmul_problem.h"
#include "core/kernels/cuda/interface/source_kernel.h"

namespace quotient::kernels::cuda {

// The facts that identify a GPU and that timings on it depend on. They come from the driver and are
// never guessed: a fact that is not available is an error of OpenGpu, except those of NVML.
struct GpuFacts {
  std::string name;            // "NVIDIA H200"
  int compute_capability = 0;  // 90 means 9.0.
  int processors = 0;          // Streaming multiprocessors.
  int64_t memory_bytes = 0;
  int64_t l2_bytes = 0;
  int bus_bits = 0;
  int max_clock_khz = 0;  // The highest clock of the multiprocessors.
  int max_memory_clock_khz = 0;
  bool ecc = false;
  // "" if NVML is missing.
  std::string power_limit_watts;
  std::string mig_mode;  // "on", "off".
  // $NVIDIA_TF32_OVERRIDE: "0" disables TF32 in all of NVIDIA's libraries. "" if not set.
  std::string tf32_override;
  std::string driver;  // "580.159.04"; "" if NVML is missing.
  // Versions as the libraries report them: 13000, 91900, .... The driver's is the newest CUDA
  // version that it supports.
  int driver_version = 0;
  int runtime_version = 0;
  int cudnn_version = 0;
  int cudnn_cuda_version = 0;  // The version of CUDA that cuDNN was made for.
  int cublaslt_version = 0;
  int nvrtc_version = 0;
  // In the form that cuDNN without a device needs (DnnChecker). "" if cuDNN does not tell it.
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

// Work on the host in the middle of a sequence. It reads and writes host memory and must not use
// the device. The buffers are the inputs, then the outputs.
struct HostCall {
  std::vector<int64_t> input_bytes;
  std::vector<int64_t> output_bytes;
  std::function<void(std::span<const void* const> inputs, std::span<void* const> outputs)> run;
};

// A compiled kernel, of a library or Quotient's own, ready to be launched. Immutable.
class Launcher {
 public:
  virtual ~Launcher() = default;
  // Device memory that it needs while it runs.
  virtual int64_t workspace_bytes() const = 0;
};

// One launch of a sequence that is captured.
struct Step {
  const Launcher* launcher = nullptr;
  std::vector<DeviceAddress> buffers;  // In the launcher's order.
  DeviceAddress workspace = 0;
  // Steps on one lane run one after the other. A step on another lane waits only for those in
  // `after`, which precede it in the sequence.
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
  // Blocks until done. Fails with DEVICE_LOST if a kernel failed (Gpu::health).
  virtual absl::StatusOr<Reading> Run() = 0;
};

// One GPU, opened. Thread-safe, but the caller must order accesses to the memory that Buffers,
// Replays and uploads read and write. Buffers, Launchers and Replays must not outlive it.
class Gpu {
 public:
  virtual ~Gpu() = default;

  virtual const GpuFacts& facts() const = 0;

  // DEVICE_LOST, with CUDA's first message, after an error from which no process recovers: an
  // illegal address, a failed launch, an uncorrectable memory error. From then on every call fails.
  virtual absl::Status health() const = 0;

  // The present clock of the multiprocessors in MHz; 0 if NVML is missing. May take longer than a
  // replay.
  virtual int ClockMhz() = 0;

  // The address is a multiple of 256. Fails with RESOURCE_EXHAUSTED.
  virtual absl::StatusOr<std::unique_ptr<Buffer>> Allocate(int64_t bytes) = 0;
  // These block until done.
  virtual absl::Status Upload(DeviceAddress to, const void* from, int64_t bytes) = 0;
  virtual absl::Status Download(void* to, DeviceAddress from, int64_t bytes) = 0;

  // The plans by which a library can run the problem and that its policy allows, the library's
  // first choice first. Plan names are the same in every process with the same library versions.
  // Empty if the library cannot run it. Takes milliseconds.
  virtual absl::StatusOr<std::vector<LibraryPlan>> Plans(const MatmulProblem& problem) = 0;
  virtual absl::StatusOr<std::vector<LibraryPlan>> Plans(const DnnGraph& graph) = 0;

  // These compile. It takes some 50 ms for one of Quotient's kernels, up to three seconds for one
  // that cuDNN compiles at run time, and a few milliseconds for what the cache has. Fails with
  // UNIMPLEMENTED if the library does not have the plan after all.
  virtual absl::StatusOr<std::unique_ptr<Launcher>> Prepare(const SourceKernel& kernel) = 0;
  virtual absl::StatusOr<std::unique_ptr<Launcher>> Prepare(const MatmulProblem& problem,
                                                            const std::string& plan) = 0;
  virtual absl::StatusOr<std::unique_ptr<Launcher>> Prepare(const DnnGraph& graph,
                                                            const std::string& plan) = 0;

  // Copies to the host, makes the call, and copies back. The launcher owns the host memory, so it
  // may be in one Replay at a time.
  virtual absl::StatusOr<std::unique_ptr<Launcher>> Prepare(HostCall call) = 0;

  // The steps' launchers must outlive the replay.
  virtual absl::StatusOr<std::unique_ptr<Replay>> Capture(std::span<const Step> steps) = 0;
};

// Asks cuDNN which plans exist, by a description of a device instead of a device. For tests, and
// for rules that must know what is legal on hosts without a GPU. Thread-safe.
class DnnChecker {
 public:
  virtual ~DnnChecker() = default;
  virtual absl::StatusOr<std::vector<LibraryPlan>> Plans(const DnnGraph& graph) = 0;
  // Builds the plan as far as possible without a driver: precompiled engines completely.
  virtual absl::Status Build(const DnnGraph& graph, const std::string& plan) = 0;
  // Builds the plan and executes it without a handle on `buffers` invalid addresses; returns
  // cuDNN's error. cuDNN checks the buffers first, so this detects a wrong number of them.
  virtual absl::Status ExecuteWithoutHandle(const DnnGraph& graph, const std::string& plan,
                                            int buffers) = 0;
};

// The interface of the shared library. `cache`, which is borrowed, keeps compiled code; null keeps
// none.
class Plugin {
 public:
  virtual ~Plugin() = default;
  // Fails with DEVICE_NOT_PRESENT if there is no driver or no such GPU, or if a driver or library
  // is too old (the message says which, and what is needed), and with DEVICE_LOST if the GPU has
  // failed in this process before.
  // `tf32_override`: GpuFacts::tf32_override. `cache` may be null; the GPU borrows it.
  virtual absl::StatusOr<std::unique_ptr<Gpu>> OpenGpu(int ordinal,
                                                       const std::string& tf32_override,
                                                       CodeCache* cache) = 0;
  // `properties_json`: GpuFacts::properties_json of the device in question.
  virtual absl::StatusOr<std::unique_ptr<DnnChecker>> NewDnnChecker(
      const std::string& properties_json, int compute_capability, CodeCache* cache) = 0;
  // Compiles by NVRTC to machine code for "sm_<compute_capability>". Fails with INVALID_ARGUMENT
  // and the compiler's log.
  virtual absl::StatusOr<std::string> CompileSource(const SourceKernel& kernel,
                                                    int compute_capability, CodeCache* cache) = 0;
};

}  // namespace quotient::kernels::cuda
