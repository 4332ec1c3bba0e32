#pragma once

// A kernel prepared on a GPU: one program, with one plan for each launch of a library.

#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "core/kernels/cuda/interface/gpu.h"
#include "core/kernels/cuda/program/program.h"

namespace quotient::kernels::cuda {

// One way to run a kernel. Its name is "PROGRAM" or "PROGRAM:LIBRARY PLAN&LIBRARY PLAN".
struct Way {
  Program program;
  std::vector<std::string> library_plans;  // One for each launch of a library.
  std::string name() const;
};

// The way with this name, if the program has it.
std::optional<Way> WayOf(const Program& program, absl::string_view name);

struct Ways {
  std::vector<Way> list;  // Those worth trying first come first.
  absl::Status failure;   // The error of a library that could not answer; it may have more ways.
};

// All ways to run a spec, at most `most` per program. Asks the libraries; if none supports it, the
// host computes it. Fails with the error of a library if no other way is left.
absl::StatusOr<Ways> WaysToRun(const KernelSpec& spec, MathPolicy policy, Gpu& gpu, size_t most);

// Immutable. May be shared unless it computes on the host.
class PreparedKernel {
 public:
  // Fails with UNIMPLEMENTED if the library does not have the plan after all.
  static absl::StatusOr<std::shared_ptr<const PreparedKernel>> Create(Way way, Gpu& gpu);

  const Program& program() const { return program_; }
  const std::string& name() const { return name_; }
  // For temporaries and for the libraries.
  int64_t workspace_bytes() const { return workspace_bytes_; }
  bool uses_host() const { return uses_host_; }

  // The addresses of its buffers: parallel to AllOperands, to program().constants and to the spec's
  // outputs; 0 where there is none.
  struct Bindings {
    std::vector<DeviceAddress> operands;
    std::vector<DeviceAddress> constants;
    std::vector<DeviceAddress> outputs;
    DeviceAddress workspace = 0;
  };
  // Appends its launches, in sequence on lane 0. The kernel must outlive them.
  void AppendSteps(const Bindings& bindings, std::vector<Step>* steps) const;

 private:
  PreparedKernel(Program program, std::string name)
      : program_(std::move(program)), name_(std::move(name)) {}

  absl::StatusOr<std::unique_ptr<Launcher>> Prepare(const Launch& launch,
                                                    const std::string& library_plan, Gpu& gpu);
  void PlaceTemporaries();
  DeviceAddress Resolve(const BufferRef& ref, const Bindings& bindings) const;

  const Program program_;
  const std::string name_;
  std::vector<std::unique_ptr<Launcher>> launchers_;  // Parallel to program_.launches.
  std::vector<int64_t> offsets_;                      // Where temporaries begin in the workspace.
  int64_t library_offset_ = 0;                        // Where the libraries' part of it begins.
  int64_t workspace_bytes_ = 0;
  bool uses_host_ = false;
};

}  // namespace quotient::kernels::cuda
