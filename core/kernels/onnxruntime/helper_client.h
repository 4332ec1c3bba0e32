#pragma once

// HelperClient: ONNX Runtime in another process. It runs models that nobody has looked at, so it
// may crash, hang, or take all memory: then the call in progress fails, the process is ended, and
// the next Load starts another.

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/synchronization/mutex.h"
#include "core/kernels/backend.h"
#include "core/kernels/onnxruntime/channel.h"
#include "core/kernels/onnxruntime/model_files.h"
#include "core/model/tensor.h"
#include "core/os/child_process.h"
#include "core/os/environment.h"
#include "core/os/temp_folder.h"

namespace quotient::kernels::onnxruntime {

struct HelperOptions {
  std::string program;  // The path of quotient-ort.
  std::string library;  // ONNX Runtime's: a path, or a name that the dynamic linker knows.
  std::string provider = "CPUExecutionProvider";  // ONNX Runtime's; the library must have it.
  int threads = 1;
  // What the process and this one may take together, as of when a model is loaded.
  int64_t memory_bytes = 0;
  // How long an answer may take, for loading a model and for everything else.
  double load_seconds = 120;
  double run_seconds = 60;
  bool takes_precedence = false;  // os::TakePrecedence, for the whole process.
  os::Environment environment;
};

// How a model runs.
enum class Level {
  kOnce,  // As it is, and only once: preparing for many runs would be in vain.
  // As it is, and weights that refer to the same bytes have contents of their own (onnx::Copies).
  kCopies,
  kAll,  // As ONNX Runtime optimizes it for its users by default.
  // The same, and the profiler of ONNX Runtime records all runs.
  kRecorded,
};

// A model that is loaded in a process.
struct SessionId {
  int64_t process = 0;  // The first one is 1.
  int64_t session = 0;
};

struct NamedTensor {
  std::string name;
  model::Tensor tensor;
};

// Values in a process that sessions have computed.
struct StoreId {
  int64_t process = 0;
  int64_t store = 0;
};

// A value in a store.
struct KeptTensor {
  std::string name;  // As an input.
  StoreId store;
  std::string value;
};

// What is known of an output.
struct OutputSummary {
  model::TensorType type;      // Its dtype is undefined if the output is no tensor of numbers.
  int64_t least = 0;           // The least element; integers only.
  int64_t most = 0;            // The greatest element; integers only.
  double subnormal_share = 0;  // The share of subnormal elements; floats only.
  std::optional<model::Tensor> content;  // If there are few elements.
};

// The label of the kernel of a node (FileKernel::label). Nodes may be without a name.
std::string LabelOf(absl::string_view node_name, absl::string_view op);

// Every call fails with
//   UNIMPLEMENTED if ONNX Runtime refuses what it is asked for,
//   RESOURCE_EXHAUSTED if its process has no memory left,
//   DEADLINE_EXCEEDED if it did not answer in time,
//   ABORTED if it crashed, or the session's process is not there any more.
// Thread-safe; calls take turns.
class HelperClient {
 public:
  // Starts the process. DEVICE_NOT_PRESENT if the library is missing, too old or something else, or
  // lacks the provider; the message says which.
  static absl::StatusOr<std::unique_ptr<HelperClient>> Create(HelperOptions options);

  // The version of ONNX Runtime, such as "1.31.1".
  const std::string& version() const { return version_; }
  // Tells builds of one version apart.
  const std::string& build() const { return build_; }

  // DEVICE_LOST once a later process has another library than the first one. Like the next two, for
  // any thread, and does not wait for its turn.
  absl::Status health() const;
  // How many calls had no answer, as a process has ended that was not told to.
  int64_t failures() const;
  // Ends the process if the call in progress has waited for so long. The call fails with
  // DEADLINE_EXCEEDED.
  void EndHungCall(double seconds);
  // Ends the process if nothing is loaded in it. The next Load starts another.
  void Rest();

  // Loads a model. Also fails with DEVICE_NOT_PRESENT if a new process is needed and cannot be had.
  absl::StatusOr<SessionId> Load(const ModelFile& file, Level level);
  // The graph that ONNX Runtime runs as users get it by default. Fails as Load does.
  absl::StatusOr<Dump> Optimize(const ModelFile& file);
  // Sets all inputs, and the names of the outputs that are computed.
  absl::Status Feed(SessionId id, std::span<const NamedTensor> inputs,
                    std::span<const std::string> outputs);
  // The same; the inputs `kept` are in stores.
  absl::Status Feed(SessionId id, std::span<const NamedTensor> inputs,
                    std::span<const KeptTensor> kept, std::span<const std::string> outputs);
  // Runs a session that was fed.
  absl::StatusOr<DeviceReading> Run(SessionId id, int times);
  // The outputs of the last run, which must have these types.
  absl::StatusOr<std::vector<model::Tensor>> Fetch(SessionId id,
                                                   std::span<const model::TensorType> types);
  // Unloads a session of Level::kRecorded. Returns the kernels of its runs, in the order of a run.
  absl::StatusOr<std::vector<RecordedKernel>> TakeRecords(SessionId id);
  // Unloads a session. Returns what the outputs of its last run were like, in the order in which
  // they were asked for, and keeps those that `values` names in a store. `*store` becomes a new one
  // if it is none.
  absl::StatusOr<std::vector<OutputSummary>> Keep(SessionId id, std::span<const std::string> values,
                                                  StoreId* store);
  void Unload(SessionId id);
  void Drop(StoreId store);
  // Whether the session's process is still there.
  bool Has(SessionId id);

 private:
  // A process that has greeted. Its folder outlives it.
  struct Process {
    int64_t number = 0;
    std::unique_ptr<os::TempFolder> folder;
    std::unique_ptr<os::ChildProcess> child;
    Channel channel;
    int64_t loaded = 0;  // Sessions and stores, at most.
  };
  // What an answer consists of.
  struct Reply {
    ort::v1::Answer answer;
    std::vector<std::string> blobs;
  };
  // What a request consists of, and how long its answer may take and be.
  struct Call {
    ort::v1::Request request;
    std::vector<absl::string_view> blobs;
    double seconds = 0;
    uint64_t most_bytes = 0;
  };

  // The call in progress, for those who look at it from outside.
  struct Pending {
    const os::ChildProcess* child = nullptr;  // Null if there is none.
    int64_t since_ns = 0;
    bool given_up = false;
  };
  // Makes a call the one in progress while it lives, or until the process is buried.
  class Waiting {
   public:
    explicit Waiting(HelperClient* client) ABSL_EXCLUSIVE_LOCKS_REQUIRED(client->mutex_);
    ~Waiting();
    Waiting(const Waiting&) = delete;
    Waiting& operator=(const Waiting&) = delete;

   private:
    HelperClient& client_;
  };

  explicit HelperClient(HelperOptions options) : options_(std::move(options)) {}

  // Whether there is a process. Buries one that has ended since it was last talked to.
  bool IsRunning() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  absl::Status Start() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  // Whether the process that greets is the one that is wanted. Every later process must have the
  // library that the first one had: users were told that it is the one that is measured.
  absl::Status CheckGreeting(const ort::v1::Greeting& greeting)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  // Loads a model, which is in the folder meanwhile. If `dump` is not null, it is set to the dump.
  absl::StatusOr<SessionId> LoadFrom(const ModelFile& file, onnx::Copies copies,
                                     const ort::v1::Load& load, Dump* dump)
      ABSL_LOCKS_EXCLUDED(mutex_);
  // `unloads`: how many sessions and stores less are loaded after the call.
  absl::StatusOr<Reply> AskSession(SessionId id, const Call& call, int unloads = 0)
      ABSL_LOCKS_EXCLUDED(mutex_);
  absl::StatusOr<Reply> Ask(const Call& call) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  absl::StatusOr<Reply> AwaitGreeting() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  absl::StatusOr<Reply> Receive(const Call& call) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  void CountFailure() ABSL_LOCKS_EXCLUDED(state_mutex_);
  // Buries the process that a call has no answer of.
  absl::Status Fail(const absl::Status& why, double seconds) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  // Ends the process, with which talking failed because of `why`. Returns the error that this is.
  absl::Status Bury(const absl::Status& why, double seconds) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);

  const HelperOptions options_;
  std::string version_;  // Constant once created, like the next one.
  std::string build_;

  absl::Mutex mutex_;
  std::unique_ptr<Process> process_ ABSL_GUARDED_BY(mutex_);  // Null if there is none.
  int64_t processes_ ABSL_GUARDED_BY(mutex_) = 0;             // Started so far.

  mutable absl::Mutex state_mutex_;  // Is held for moments; may be taken while mutex_ is held.
  Pending pending_ ABSL_GUARDED_BY(state_mutex_);
  absl::Status lost_ ABSL_GUARDED_BY(state_mutex_);
  int64_t failures_ ABSL_GUARDED_BY(state_mutex_) = 0;
};

}  // namespace quotient::kernels::onnxruntime
