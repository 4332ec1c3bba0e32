#pragma once

// Runtime and Session: ONNX Runtime's environment and models in it. Used by the helper process
// alone. For one thread.

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "core/kernels/onnxruntime/library.h"

namespace quotient::kernels::onnxruntime {

// An object of the library, which is released with its function.
template <typename T>
using Handle = std::unique_ptr<T, void (*)(T*)>;

struct HostTensor {
  std::string name;
  int dtype = 0;  // TensorProto.DataType, which ONNX Runtime's own numbers are equal to.
  std::vector<int64_t> dims;
  std::string bytes;
};

// A tensor whose bytes are somewhere else.
struct TensorView {
  std::string name;
  int dtype = 0;
  std::vector<int64_t> dims;
  absl::string_view bytes;
};

// A model that can be run. The fields of one run are kept until the next.
class Session {
 public:
  // `first_run`: the options of its first run; null if that is like all others.
  Session(const OrtApi& api, Handle<OrtSession> session, Handle<OrtRunOptions> first_run)
      : api_(api), session_(std::move(session)), first_run_(std::move(first_run)) {}

  // Sets all inputs, and the names of the outputs that are computed.
  absl::Status Feed(std::vector<HostTensor> inputs, std::vector<std::string> outputs);
  // Whether the next run is the first one of a session that LoadOptions::first_run_plans is for.
  bool plans() const { return first_run_ != nullptr; }
  // Runs `times` times. Feed comes first.
  absl::Status Run(int times);
  size_t num_outputs() const { return outputs_.size(); }
  // An output of the last run, for as long as there is no other. UNIMPLEMENTED if it is no tensor
  // of numbers.
  absl::StatusOr<TensorView> Output(size_t index) const;

 private:
  const OrtApi& api_;
  const Handle<OrtSession> session_;
  Handle<OrtRunOptions> first_run_;  // Null afterwards.
  std::vector<HostTensor> inputs_;
  std::vector<Handle<OrtValue>> input_values_;  // Parallel to inputs_, whose bytes they use.
  std::vector<std::string> output_names_;
  std::vector<Handle<OrtValue>> outputs_;  // Parallel to output_names_, or empty before a run.
};

struct LoadOptions {
  bool optimizes = true;
  // Whether the session is made to run often: weights are packed for the kernels that read them,
  // and memory comes from an arena that grows by doubling. A model that is run once, for its
  // values, saves time and memory without both.
  bool runs_often = true;
  // Whether the first run gives back what it took of the arena. ONNX Runtime plans the memory of a
  // model in that run, and takes what it has planned in one piece in the next one, so that a
  // session would keep about twice as much as it uses. Only where runs_often.
  bool first_run_plans = false;
  // If not empty, the path of a file that the graph that runs is written to. What is large in it
  // goes into the file `dump_weights` in the same folder.
  std::string dump;
  std::string dump_weights;
  // If not empty, all runs are profiled: when the session ends, a file is written whose path is
  // this and more.
  std::string profile_prefix;
};

class Runtime {
 public:
  // All sessions share `threads` threads. With threads of their own, those of one would still spin
  // when the next one runs.
  static absl::StatusOr<std::unique_ptr<Runtime>> Create(const Library& library, int threads);

  // Loads a model from its file, beside which the files with its weights are. These are mapped, so
  // they must not change, but may be removed. Fails with RESOURCE_EXHAUSTED for lack of memory, and
  // with UNIMPLEMENTED if ONNX Runtime refuses the model.
  absl::StatusOr<std::unique_ptr<Session>> Load(const std::string& path,
                                                const LoadOptions& how) const;

 private:
  Runtime(const OrtApi& api, Handle<OrtEnv> env) : api_(api), env_(std::move(env)) {}

  const OrtApi api_;
  const Handle<OrtEnv> env_;
};

}  // namespace quotient::kernels::onnxruntime
