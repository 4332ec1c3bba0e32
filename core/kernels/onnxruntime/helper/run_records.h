#pragma once

// RunRecords: what ONNX Runtime's profiler records of the runs of a session. It writes a file in
// the format of Chrome's trace viewer when the session ends, one event in each line, into a folder
// that exists for that alone. For one thread.

#include <memory>
#include <string>
#include <vector>

#include "absl/status/statusor.h"

namespace quotient::kernels::onnxruntime {

// A kernel in the runs of a session.
struct KernelRecord {
  std::string name;  // Of its node in the graph that runs.
  std::string op;
  std::vector<double> us;  // Run by run.
};

class RunRecords {
 public:
  // Makes the folder in another one. STORAGE_DOWN if that cannot be done.
  static absl::StatusOr<std::unique_ptr<RunRecords>> Create(const std::string& parent);
  // Removes the folder and what is in it.
  ~RunRecords();
  RunRecords(const RunRecords&) = delete;

  // For LoadOptions::profile_prefix.
  std::string prefix() const { return folder_ + "/run"; }

  // The kernels in the order of the first run. Runs that had other kernels, as the branches of an
  // If may, are left out. Comes after the end of the session. Fails with INTERNAL if nothing was
  // written.
  absl::StatusOr<std::vector<KernelRecord>> Read() const;

 private:
  explicit RunRecords(std::string folder) : folder_(std::move(folder)) {}

  const std::string folder_;
};

}  // namespace quotient::kernels::onnxruntime
