#pragma once

// A kernel prepared on a GPU: one program, its launches of libraries by one plan each.

#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "core/kernels/cuda/gpu.h"
#include "core/kernels/cuda/program.h"

namespace quotient::kernels::cuda {

// One way to run a kernel, by name. Text: "PROGRAM" or "PROGRAM:LIBRARY PLAN&LIBRARY PLAN".
struct Way {
  Program program;
  std::vector<std::string> library_plans;  // one for each of its launches of a library
  std::string name() const;
};

// The way of that name, if it is one of the program.
std::optional<Way> WayOf(const Program& program, absl::string_view name);

struct Ways {
  std::vector<Way> list;  // those worth trying first in front
  absl::Status failure;   // of a library that could not say what it has: it may know more ways
};

// All ways of a spec, at most `most` per program. Asks the libraries; what none of them has, the
// host computes. Errors: of libraries that fail, if no other way is left.
absl::StatusOr<Ways> WaysToRun(const KernelSpec& spec, MathPolicy policy, Gpu& gpu, size_t most);

// Immutable, and shareable unless it computes on the host.
class PreparedKernel {
 public:
  // UNIMPLEMENTED where the library does not have the plan after all.
  static absl::StatusOr<std::shared_ptr<const PreparedKernel>> Create(Way way, Gpu& gpu);

  const Program& program() const { return program_; }
  const std::string& name() const { return name_; }
  // Temporaries and what the libraries need besides.
  int64_t workspace_bytes() const { return workspace_bytes_; }
  bool uses_host() const { return uses_host_; }

  // Where its buffers are: parallel to AllOperands, to program().constants and to the spec's
  // outputs; 0 where there is none.
  struct Bindings {
    std::vector<DeviceAddress> operands;
    std::vector<DeviceAddress> constants;
    std::vector<DeviceAddress> outputs;
    DeviceAddress workspace = 0;
  };
  // Its launches, one after the other on lane 0. The kernel outlives them.
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
  std::vector<std::unique_ptr<Launcher>> launchers_;  // parallel to program_.launches
  std::vector<int64_t> offsets_;                      // of temporaries in the workspace
  int64_t library_offset_ = 0;                        // of the libraries' part
  int64_t workspace_bytes_ = 0;
  bool uses_host_ = false;
};

}  // namespace quotient::kernels::cuda
