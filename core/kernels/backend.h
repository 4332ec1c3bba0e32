#pragma once

// Backend: a kind of device that can run and time kernels. One implementation per kernel library
// (onednn/; fake/ for tests); nothing outside a backend's folder may know its library.
//
// A *kernel* is the unit of cost: a node of the graph together with the element-wise nodes fused
// behind it. Backend::Partition says which nodes those are, so that predicting and executing
// agree.

#include <memory>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "core/kernels/kernel_spec.h"
#include "core/model/graph.h"

namespace quotient::kernels {

// Names the device and everything else that makes timings comparable (kernel-timing: hardware,
// ISA, library versions, threads, wait policy). Canonical text.
struct DeviceFingerprint {
  std::string text;
  friend bool operator==(const DeviceFingerprint&, const DeviceFingerprint&) = default;
};

// One compiled kernel with buffers of its own, filled with random data; constant operands in as
// many copies as the residency class asks for. For the timing lane: one thread.
class CompiledKernel {
 public:
  virtual ~CompiledKernel() = default;
  // Executes once, on the next copy of the constants. Blocks until done.
  virtual absl::Status Run() = 0;
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
  // The graph's outputs (and inputs of opaque nodes), in the order of `output_values()`, in plain
  // row-major form. After Run.
  virtual absl::StatusOr<std::vector<model::Tensor>> GetOutputs() = 0;

  virtual const std::vector<model::ValueId>& input_values() const = 0;
  virtual const std::vector<model::ValueId>& output_values() const = 0;
  virtual int num_kernels() const = 0;
};

class Backend {
 public:
  virtual ~Backend() = default;

  virtual const DeviceFingerprint& fingerprint() const = 0;

  // Which nodes of a static, folded graph run as one kernel. Covers every live node that is not
  // opaque exactly once, in an order that can be executed. Nodes that cost nothing (views that the
  // memory plan makes free) form groups whose spec says so. Thread-safe.
  virtual absl::StatusOr<std::vector<KernelGroup>> Partition(const model::Graph& graph) const = 0;

  // UNIMPLEMENTED if this backend has no kernel for it. Thread-safe, may take milliseconds.
  virtual absl::StatusOr<std::unique_ptr<CompiledKernel>> Compile(const KernelSpec& spec) const = 0;

  // The graph must be static where it is live. Errors name the node. Thread-safe.
  virtual absl::StatusOr<std::unique_ptr<Executable>> CompileGraph(
      const model::Graph& graph) const = 0;
};

}  // namespace quotient::kernels
