#pragma once

// Backend: a kind of device that can run and time kernels. One implementation per kernel library
// (onednn/; fake/ for tests); nothing outside a backend's folder may know its library.
//
// A *kernel* is the unit of cost: a node of the graph together with the element-wise nodes fused
// behind it. PartitionGraph says which nodes those are, so that predicting and executing agree.

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "core/kernels/kernel_spec.h"
#include "core/kernels/partition.h"
#include "core/model/graph.h"

namespace quotient::kernels {

// Names the device and everything else that makes timings comparable (kernel-timing: hardware,
// ISA, library versions, threads, wait policy). Canonical text.
struct DeviceFingerprint {
  std::string text;
  friend bool operator==(const DeviceFingerprint&, const DeviceFingerprint&) = default;
};

// What a device's own clock says of a run.
struct DeviceReading {
  double us = 0;
  bool clean = true;  // nothing is known that slowed it down
};

// One way to run a kernel, compiled, with buffers of its own, filled with random data; constant
// operands in as many copies as the residency class asks for. For the timing lane: one thread.
class CompiledKernel {
 public:
  virtual ~CompiledKernel() = default;
  // Executes `times` times, one after the other, each on the next copy of the constants. Blocks
  // until done.
  virtual absl::Status Run(int times) = 0;
  // How long the last Run took; nothing where the host's clock tells it best.
  virtual std::optional<DeviceReading> reading() const { return std::nullopt; }
  // Names this way to run the kernel, the same in every process on this device; "" where a backend
  // knows one only.
  virtual std::string plan() const { return ""; }
};

// A whole graph, compiled: constants packed, buffers planned. Not thread-safe.
class Executable {
 public:
  virtual ~Executable() = default;
  // Sets the graph's inputs (and outputs of opaque nodes, where the graph is cut), in the order of
  // `input_values()`. Copies and converts layouts.
  virtual absl::Status SetInputs(const std::vector<model::Tensor>& inputs) = 0;
  // Runs all kernels once, from the inputs as set. Blocks until done. The timed part.
  virtual absl::Status Run() = 0;
  // As CompiledKernel's.
  virtual std::optional<DeviceReading> reading() const { return std::nullopt; }
  // The graph's outputs (and inputs of opaque nodes), in the order of `output_values()`, in plain
  // row-major form. After Run.
  virtual absl::StatusOr<std::vector<model::Tensor>> GetOutputs() = 0;

  virtual const std::vector<model::ValueId>& input_values() const = 0;
  virtual const std::vector<model::ValueId>& output_values() const = 0;
  virtual int num_kernels() const = 0;
};

// By which plan a kernel is to run: CompiledKernel::plan of the fastest. "", or an empty function:
// the backend's first choice.
using PlanChoice = std::function<std::string(const KernelSpec& spec)>;

class Backend {
 public:
  virtual ~Backend() = default;

  virtual const DeviceFingerprint& fingerprint() const = 0;

  // How PartitionGraph cuts graphs for this backend. Thread-safe.
  virtual const PartitionOptions& partition() const = 0;

  // DEVICE_LOST once the device has failed in a way that leaves it of no use to this process:
  // everything else fails from then on. Thread-safe, quick.
  virtual absl::Status health() const { return absl::OkStatus(); }

  // Compiles for a kernel what takes long and leaves the device alone, so that Compile is quick
  // later on. From as many threads as one likes; failures come out there.
  virtual void Prepare(const KernelSpec&) const {}

  // The ways in which this backend can run a kernel, at least one, its first choice first.
  // UNIMPLEMENTED if there is none. Takes milliseconds, without Prepare seconds on GPUs.
  // Thread-safe, but uses the device: for the timing lane.
  virtual absl::StatusOr<std::vector<std::unique_ptr<CompiledKernel>>> Compile(
      const KernelSpec& spec) const = 0;

  // The graph must be static where it is live. Errors name the node. Thread-safe.
  virtual absl::StatusOr<std::unique_ptr<Executable>> CompileGraph(
      const model::Graph& graph, const PlanChoice& plans) const = 0;
};

}  // namespace quotient::kernels
