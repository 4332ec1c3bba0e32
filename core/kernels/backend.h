#pragma once

// Backend: a kind of device that can run and time kernels. There is one implementation per kernel
// library (onednn/, cuda/, onnxruntime/; tests/support has a simulated one), and only its own
// folder knows it.
//
// A *kernel* is the unit of cost: a node of the graph together with the element-wise nodes fused
// behind it. PartitionGraph decides which nodes these are, so prediction and execution agree.

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "absl/functional/function_ref.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "core/base/stop.h"
#include "core/kernels/kernel_spec.h"
#include "core/kernels/partition.h"
#include "core/model/graph.h"

namespace quotient::kernels {

// Identifies the device and everything else that timings depend on (hardware, ISA, library
// versions, threads, wait policy), as canonical text.
struct DeviceFingerprint {
  std::string text;
  friend bool operator==(const DeviceFingerprint&, const DeviceFingerprint&) = default;
};

// A measurement by the device's own clock.
struct DeviceReading {
  double us = 0;
  bool clean = true;  // False if something is known to have slowed the run down.
};

// One way to run a kernel: compiled, with its own buffers of random data, and with as many copies
// of the constant operands as the constant footprint requires. For one thread, the timing lane.
class CompiledKernel {
 public:
  virtual ~CompiledKernel() = default;
  // Called before each sample, not part of it: brings the operands to where a graph leaves them,
  // written by other kernels a moment ago. Returns whether that makes a difference. If so, every
  // run that is timed must follow a Refresh; if not, a sample may have many runs.
  virtual bool Refresh() { return false; }
  // Runs `times` times in sequence, each time with the next copy of the constants. Blocks until
  // done.
  virtual absl::Status Run(int times) = 0;
  // How long the last Run took; nullopt if the host's clock should be used.
  virtual std::optional<DeviceReading> reading() const { return std::nullopt; }
  // Names this way to run the kernel. The same in every process on this device; "" if the backend
  // knows only one way.
  virtual std::string plan() const { return ""; }
  // About how many bytes of this machine's memory it holds. The kernels that exist at a time are
  // bounded by that.
  virtual int64_t bytes() const { return 0; }
};

// A kernel in the runs that an Executable recorded.
struct RecordedKernel {
  std::string label;       // As in FileKernel.
  std::vector<double> us;  // How long it took, run by run.
};

// A compiled graph, with packed constants and planned buffers. Not thread-safe.
class Executable {
 public:
  virtual ~Executable() = default;
  // Sets the graph's inputs (and the outputs of opaque nodes, which cut the graph), in the order of
  // input_values(). Copies them and converts their layouts.
  virtual absl::Status SetInputs(const std::vector<model::Tensor>& inputs) = 0;
  // Runs all kernels once. Blocks until done. This is the part that is timed.
  virtual absl::Status Run() = 0;
  // Runs all kernels once, and calls `after` when a kernel is done, before the next one starts. The
  // kernels are the groups of PartitionGraph that are not free, in their order. For profiles: the
  // run may take longer than Run. UNIMPLEMENTED where the device does not tell its kernels apart;
  // nothing is run then.
  virtual absl::Status RunInSteps(absl::FunctionRef<void()> /*after*/) {
    return absl::UnimplementedError("this device does not tell the kernels of a run apart");
  }
  // Runs all kernels once as the device's own profiler does, which tells later how long each of
  // them took. Like RunInSteps for profiles only, and for devices that have no steps. UNIMPLEMENTED
  // where there is no such profiler; nothing is run then.
  virtual absl::Status RunRecorded() {
    return absl::UnimplementedError("this device has no profiler");
  }
  // The kernels of all calls of RunRecorded so far, in the order of a run. Called once.
  virtual absl::StatusOr<std::vector<RecordedKernel>> TakeRecords() {
    return absl::UnimplementedError("this device has no profiler");
  }
  // As in CompiledKernel.
  virtual std::optional<DeviceReading> reading() const { return std::nullopt; }
  // The graph's outputs (and the inputs of opaque nodes), in the order of output_values(), in
  // row-major form. Call after Run.
  virtual absl::StatusOr<std::vector<model::Tensor>> GetOutputs() = 0;

  virtual const std::vector<model::ValueId>& input_values() const = 0;
  virtual const std::vector<model::ValueId>& output_values() const = 0;
  virtual int num_kernels() const = 0;
};

// A model as users run it: the bytes of an ONNX file, and of its external data by location. `owner`
// keeps them, or is null if the caller does.
struct ModelFile {
  absl::string_view model;
  std::map<std::string, absl::string_view> external_data;
  std::shared_ptr<const void> owner;
};

// The inputs that a file is given and the outputs that are asked of it, in the order of an
// Executable. `id` is what they are called in some graph of it.
struct FileValue {
  model::ValueId id;
  std::string name;        // In the file.
  model::TensorType type;  // Static, but for outputs that nobody gets.
};
struct FileValues {
  std::vector<FileValue> inputs;
  std::vector<FileValue> outputs;
};

// A kernel of a file as the device runs it.
struct FileKernel {
  std::string op;  // As the device calls it.
  // What RecordedKernel calls it. Kernels of one label run in the order in which they are listed.
  std::string label;
  // Names of values that it computes, or of nodes that it comes from. Some may not be in the file.
  std::vector<std::string> names;
  std::optional<KernelSpec> spec;  // Nullopt for one that cannot be timed alone.
};
struct FileKernels {
  std::vector<FileKernel> kernels;  // In an order in which they run.
  // While it lives, Compile times these kernels on what they read in the file.
  std::shared_ptr<const void> operands;
};

// Chooses the plan for a kernel: CompiledKernel::plan of the fastest one. "" or an empty function
// means the backend's first choice.
using PlanChoice = std::function<std::string(const KernelSpec& spec)>;

class Backend {
 public:
  virtual ~Backend() = default;

  virtual const DeviceFingerprint& fingerprint() const = 0;

  // How PartitionGraph cuts graphs for this backend. Thread-safe.
  virtual const PartitionOptions& partition() const = 0;

  // DEVICE_LOST once the device has failed so that this process can no longer use it; everything
  // else then fails, too. Thread-safe and fast.
  virtual absl::Status health() const { return absl::OkStatus(); }

  // How many calls had no answer so far because the device failed in a way that it recovered from.
  // Thread-safe and fast.
  virtual int64_t failures() const { return 0; }
  // Gives up what the device was asked for if it has not answered for so long, which is then a
  // failure. Thread-safe and fast.
  virtual void EndHungCalls(double /*seconds*/) const {}

  // Gives back what a device keeps for nothing in particular, such as an idle process, until it is
  // needed again: for callers who are about to use another one. Thread-safe.
  virtual void Rest() {}

  // Does the slow part of compiling kernels, which does not need the device, so that Compile is
  // fast later. Returns early if `stop` is set. Thread-safe. Errors are reported by Compile.
  virtual void Prepare(std::span<const KernelSpec>, const StopCondition& /*stop*/) const {}

  // The ways in which this backend can run a kernel: at least one, the first choice first. Fails
  // with UNIMPLEMENTED if there is none. Takes milliseconds, but seconds on GPUs without Prepare.
  // Thread-safe, but uses the device, so it is for the timing lane.
  virtual absl::StatusOr<std::vector<std::unique_ptr<CompiledKernel>>> Compile(
      const KernelSpec& spec) const = 0;

  // The graph must be static where it is live. Errors name the node. Thread-safe.
  virtual absl::StatusOr<std::unique_ptr<Executable>> CompileGraph(
      const model::Graph& graph, const PlanChoice& plans) const = 0;

  // Whether whole models are to be compared by running their files (CompileFile), as users do, and
  // not the graphs that were read from them: for runtimes that optimize by themselves.
  virtual bool runs_files() const { return false; }
  // The bytes must stay as long as the executable. Only where runs_files(). Thread-safe.
  virtual absl::StatusOr<std::unique_ptr<Executable>> CompileFile(const ModelFile&,
                                                                  const FileValues&) const {
    return absl::UnimplementedError("this device runs no files");
  }
  // The kernels that the device itself makes of a file, which it runs once with these inputs, in
  // the order of `values.inputs`. Those that read constants get this constant_footprint_log2, or
  // that of the file if it is 0: the kernels of files that are compared must find their constants
  // equally cold. Only where runs_files(). Thread-safe, but uses the device.
  virtual absl::StatusOr<FileKernels> KernelsOfFile(const ModelFile&, const FileValues& /*values*/,
                                                    const std::vector<model::Tensor>&,
                                                    int /*footprint_log2*/) const {
    return absl::UnimplementedError("this device does not tell the kernels of a file");
  }
};

}  // namespace quotient::kernels
