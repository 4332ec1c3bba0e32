#include "core/kernels/onnxruntime/helper_client.h"

#include <string.h>

#include <algorithm>
#include <cmath>
#include <utility>

#include "absl/algorithm/container.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_join.h"
#include "core/base/clock.h"
#include "core/base/log.h"
#include "core/base/reason.h"
#include "core/base/status_macros.h"
#include "core/kernels/onnxruntime/answered_tensors.h"
#include "core/kernels/onnxruntime/model_folder.h"
#include "core/os/memory.h"

namespace quotient::kernels::onnxruntime {
namespace {

using ort::v1::Request;
using ort::v1::TensorInfo;

// How long a process may take to end after it has closed the socket.
constexpr double kSecondsToEnd = 5;

int64_t DeadlineIn(double seconds) {
  return Clock::System().NowNs() + static_cast<int64_t>(seconds * 1e9);
}

// How much of `memory_bytes` this process leaves to the helper. With less than that little, a
// helper could not even begin.
int64_t LeftToHelper(int64_t memory_bytes) {
  constexpr int64_t kLeast = int64_t{1} << 29;
  return std::max(kLeast, memory_bytes - os::ResidentBytes());
}

absl::Status NoSuchProcess() {
  return absl::AbortedError("the process of ONNX Runtime that had this model has ended");
}

// Why a process closed its socket.
absl::Status Explain(const os::ChildProcess::Ending& ending, int64_t memory_bytes) {
  if (ending.exit_status == kHelperOutOfMemory) {
    return absl::ResourceExhaustedError(
        absl::StrFormat("ONNX Runtime ran out of memory, of which it may take %.1f GiB",
                        static_cast<double>(memory_bytes) / (1 << 30)));
  }
  if (ending.signal != 0) {
    return absl::AbortedError(absl::StrCat("ONNX Runtime crashed: ", strsignal(ending.signal)));
  }
  return absl::AbortedError(
      absl::StrCat("the process of ONNX Runtime ended with status ", ending.exit_status));
}

}  // namespace

absl::StatusOr<std::unique_ptr<HelperClient>> HelperClient::Create(HelperOptions options) {
  auto client = std::unique_ptr<HelperClient>(new HelperClient(std::move(options)));
  const absl::MutexLock lock(&client->mutex_);
  QUOTIENT_RETURN_IF_ERROR(client->Start());
  return client;
}

absl::Status HelperClient::Start() {
  QUOTIENT_ASSIGN_OR_RETURN(os::SocketPair sockets, os::MakeSocketPair());
  // A model may name files; it must find none but its own, so nobody else can reach the folder.
  auto folder = os::TempFolder::Create(os::TempPlace(options_.environment), kFolderName);
  if (!folder.ok()) {
    return MakeError(Reason::kDeviceNotPresent,
                     absl::StrCat("ONNX Runtime's process has no folder to work in, which is made "
                                  "in $TMPDIR or /tmp: ",
                                  folder.status().message()));
  }
  auto child = os::ChildProcess::Start(
      options_.program,
      {options_.library, absl::StrCat(options_.threads), absl::StrCat(options_.memory_bytes),
       (*folder)->path(), options_.takes_precedence ? kTakesPrecedence : kTakesTurns},
      options_.environment, sockets.theirs);
  if (!child.ok()) return MakeError(Reason::kDeviceNotPresent, child.status().message());
  sockets.theirs.Close();
  process_ = std::make_unique<Process>(Process{++processes_, *std::move(folder), *std::move(child),
                                               Channel(std::move(sockets.ours))});
  const absl::StatusOr<Reply> greeted = AwaitGreeting();
  if (!greeted.ok()) {
    process_.reset();
    return MakeError(Reason::kDeviceNotPresent, greeted.status().message());
  }
  const absl::Status welcome = CheckGreeting(greeted->answer.greeting());
  if (!welcome.ok()) process_.reset();
  return welcome;
}

absl::Status HelperClient::CheckGreeting(const ort::v1::Greeting& greeting) {
  if (greeting.protocol() != kHelperProtocol) {
    return MakeError(Reason::kDeviceNotPresent,
                     absl::StrCat(options_.program, " belongs to another build of Quotient"));
  }
  if (absl::c_find(greeting.providers(), options_.provider) == greeting.providers().end()) {
    return MakeError(
        Reason::kDeviceNotPresent,
        absl::StrCat("ONNX Runtime ", greeting.version(), " at ", options_.library, " has no ",
                     options_.provider, ", only ", absl::StrJoin(greeting.providers(), ", ")));
  }
  if (build_.empty()) {
    version_ = greeting.version();
    build_ = greeting.build();
  }
  if (greeting.version() == version_ && greeting.build() == build_) return absl::OkStatus();
  const absl::MutexLock lock(&state_mutex_);
  lost_ = MakeError(Reason::kDeviceLost,
                    absl::StrCat("the library at ", options_.library, " was ONNX Runtime ",
                                 version_, " (build ", build_, ") and is now ", greeting.version(),
                                 " (build ", greeting.build(), "); a new process can use it"));
  return lost_;
}

absl::Status HelperClient::health() const {
  const absl::MutexLock lock(&state_mutex_);
  return lost_;
}

int64_t HelperClient::failures() const {
  const absl::MutexLock lock(&state_mutex_);
  return failures_;
}

void HelperClient::CountFailure() {
  const absl::MutexLock lock(&state_mutex_);
  ++failures_;
}

void HelperClient::EndHungCall(double seconds) {
  const absl::MutexLock lock(&state_mutex_);
  if (pending_.child == nullptr) return;
  if (Clock::System().SecondsSince(pending_.since_ns) < seconds) return;
  pending_.given_up = true;
  pending_.child->Kill();
}

void HelperClient::Rest() {
  const absl::MutexLock lock(&mutex_);
  if (IsRunning() && process_->loaded == 0) process_.reset();
}

HelperClient::Waiting::Waiting(HelperClient* client) : client_(*client) {
  const absl::MutexLock lock(&client_.state_mutex_);
  client_.pending_ = {client->process_->child.get(), Clock::System().NowNs()};
}

HelperClient::Waiting::~Waiting() {
  const absl::MutexLock lock(&client_.state_mutex_);
  client_.pending_ = {};
}

absl::StatusOr<SessionId> HelperClient::LoadFrom(const ModelFile& file, onnx::Copies copies,
                                                 const ort::v1::Load& load, Dump* dump) {
  Call call{.seconds = options_.load_seconds};
  *call.request.mutable_load() = load;
  const absl::MutexLock lock(&mutex_);
  if (!IsRunning()) QUOTIENT_RETURN_IF_ERROR(Start());
  QUOTIENT_ASSIGN_OR_RETURN(const ModelFiles files,
                            ModelFiles::Write(process_->folder->path(), file, copies));
  process_->child->LimitAddresses(LeftToHelper(options_.memory_bytes));
  QUOTIENT_ASSIGN_OR_RETURN(const Reply reply, Ask(call));
  ++process_->loaded;
  if (dump != nullptr) {
    QUOTIENT_ASSIGN_OR_RETURN(*dump, files.ReadDump());
  }
  return SessionId{process_->number, reply.answer.loaded().session()};
}

absl::StatusOr<SessionId> HelperClient::Load(const ModelFile& file, Level level) {
  const bool is_optimized = level == Level::kAll || level == Level::kRecorded;
  ort::v1::Load load;
  load.set_level(is_optimized ? ort::v1::Load::LEVEL_ALL : ort::v1::Load::LEVEL_NONE);
  load.set_records(level == Level::kRecorded);
  load.set_runs_once(level == Level::kOnce);
  const auto copies = level == Level::kCopies ? onnx::Copies::kRotated : onnx::Copies::kEqual;
  return LoadFrom(file, copies, load, /*dump=*/nullptr);
}

absl::StatusOr<Dump> HelperClient::Optimize(const ModelFile& file) {
  ort::v1::Load load;
  load.set_level(ort::v1::Load::LEVEL_ALL);
  load.set_runs_once(true);
  load.set_wants_dump(true);
  Dump dump;
  QUOTIENT_ASSIGN_OR_RETURN(const SessionId session,
                            LoadFrom(file, onnx::Copies::kEqual, load, &dump));
  Unload(session);
  return dump;
}

std::string LabelOf(absl::string_view node_name, absl::string_view op) {
  return absl::StrCat(op, " ", node_name);
}

absl::StatusOr<std::vector<OutputSummary>> HelperClient::Keep(SessionId id,
                                                              std::span<const std::string> values,
                                                              StoreId* store) {
  if (store->store != 0 && store->process != id.process) return NoSuchProcess();
  Call call{.seconds = options_.run_seconds};
  ort::v1::Keep& keep = *call.request.mutable_keep();
  keep.set_session(id.session);
  keep.set_store(store->store);
  keep.mutable_values()->Assign(values.begin(), values.end());
  QUOTIENT_ASSIGN_OR_RETURN(const Reply reply,
                            AskSession(id, call, /*unloads=*/store->store == 0 ? 0 : 1));
  *store = {id.process, reply.answer.kept().store()};
  std::vector<OutputSummary> summaries;
  for (const ort::v1::Kept::Output& output : reply.answer.kept().outputs()) {
    summaries.push_back(ToSummary(output));
  }
  return summaries;
}

absl::Status HelperClient::Feed(SessionId id, std::span<const NamedTensor> inputs,
                                std::span<const std::string> outputs) {
  return Feed(id, inputs, {}, outputs);
}

absl::Status HelperClient::Feed(SessionId id, std::span<const NamedTensor> inputs,
                                std::span<const KeptTensor> kept,
                                std::span<const std::string> outputs) {
  Call call{.seconds = options_.load_seconds};
  ort::v1::Feed& feed = *call.request.mutable_feed();
  feed.set_session(id.session);
  for (const auto& [name, tensor] : inputs) {
    TensorInfo& info = *feed.add_inputs();
    info.set_name(name);
    info.set_dtype(static_cast<int>(tensor.dtype()));
    info.mutable_dims()->Add(tensor.dims().begin(), tensor.dims().end());
    call.blobs.push_back(BytesOf(tensor));
  }
  for (const auto& [name, store, value] : kept) {
    if (store.process != id.process) return NoSuchProcess();
    ort::v1::Feed::Source& from = (*feed.mutable_sources())[feed.inputs_size()];
    from.set_store(store.store);
    from.set_value(value);
    feed.add_inputs()->set_name(name);
    call.blobs.emplace_back();
  }
  for (const std::string& output : outputs) feed.add_outputs(output);
  return AskSession(id, call).status();
}

absl::StatusOr<DeviceReading> HelperClient::Run(SessionId id, int times) {
  Call call{.seconds = options_.run_seconds};
  call.request.mutable_run()->set_session(id.session);
  call.request.mutable_run()->set_times(times);
  QUOTIENT_ASSIGN_OR_RETURN(const Reply reply, AskSession(id, call));
  return DeviceReading{reply.answer.ran().us(), reply.answer.ran().clean()};
}

absl::StatusOr<std::vector<model::Tensor>> HelperClient::Fetch(
    SessionId id, std::span<const model::TensorType> types) {
  Call call{.seconds = options_.run_seconds};
  call.request.mutable_fetch()->set_session(id.session);
  for (const model::TensorType& type : types) {
    call.most_bytes +=
        static_cast<uint64_t>(model::Tensor::ByteSize(type.dtype, type.dims()).value_or(0));
  }
  QUOTIENT_ASSIGN_OR_RETURN(Reply reply, AskSession(id, call));
  const ort::v1::Fetched& fetched = reply.answer.fetched();
  if (static_cast<size_t>(fetched.outputs_size()) != types.size() ||
      reply.blobs.size() != types.size()) {
    return absl::InternalError("ONNX Runtime computes another number of outputs");
  }
  std::vector<model::Tensor> outputs;
  for (size_t i = 0; i < types.size(); ++i) {
    QUOTIENT_ASSIGN_OR_RETURN(model::Tensor output, ToTensor(fetched.outputs(static_cast<int>(i)),
                                                             std::move(reply.blobs[i]), types[i]));
    outputs.push_back(std::move(output));
  }
  return outputs;
}

absl::StatusOr<std::vector<RecordedKernel>> HelperClient::TakeRecords(SessionId id) {
  Call call{.seconds = options_.run_seconds};
  call.request.mutable_take_records()->set_session(id.session);
  QUOTIENT_ASSIGN_OR_RETURN(const Reply reply, AskSession(id, call, /*unloads=*/1));
  std::vector<RecordedKernel> kernels;
  for (const ort::v1::Records::Kernel& kernel : reply.answer.records().kernels()) {
    kernels.push_back(
        {LabelOf(kernel.name(), kernel.op()), {kernel.us().begin(), kernel.us().end()}});
  }
  return kernels;
}

void HelperClient::Unload(SessionId id) {
  if (!Has(id)) return;
  Call call{.seconds = options_.run_seconds};
  call.request.mutable_unload()->set_session(id.session);
  const absl::Status status = AskSession(id, call, /*unloads=*/1).status();
  if (!status.ok()) {
    Log().warn("a model of ONNX Runtime could not be unloaded: {}", std::string(status.message()));
  }
}

void HelperClient::Drop(StoreId store) { Unload({store.process, store.store}); }

bool HelperClient::Has(SessionId id) {
  const absl::MutexLock lock(&mutex_);
  return IsRunning() && process_->number == id.process;
}

bool HelperClient::IsRunning() {
  if (process_ == nullptr) return false;
  if (!process_->child->HasEnded()) return true;
  Bury(absl::UnavailableError("it has ended"), 0).IgnoreError();
  return false;
}

absl::StatusOr<HelperClient::Reply> HelperClient::AskSession(SessionId id, const Call& call,
                                                             int unloads) {
  const absl::MutexLock lock(&mutex_);
  if (process_ == nullptr || process_->number != id.process) {
    CountFailure();
    return NoSuchProcess();
  }
  QUOTIENT_ASSIGN_OR_RETURN(Reply reply, Ask(call));
  process_->loaded -= unloads;
  return reply;
}

absl::StatusOr<HelperClient::Reply> HelperClient::Ask(const Call& call) {
  const Waiting waiting(this);
  const absl::Status sent =
      process_->channel.Send(call.request, call.blobs, DeadlineIn(call.seconds));
  if (!sent.ok()) return Fail(sent, call.seconds);
  return Receive(call);
}

absl::StatusOr<HelperClient::Reply> HelperClient::AwaitGreeting() {
  const Waiting waiting(this);
  return Receive({.seconds = options_.load_seconds});
}

absl::StatusOr<HelperClient::Reply> HelperClient::Receive(const Call& call) {
  Reply reply;
  const absl::Status received = process_->channel.Receive(call.most_bytes, DeadlineIn(call.seconds),
                                                          &reply.answer, &reply.blobs);
  if (!received.ok()) return Fail(received, call.seconds);
  if (reply.answer.code() == 0) return reply;
  return absl::Status(static_cast<absl::StatusCode>(reply.answer.code()), reply.answer.message());
}

absl::Status HelperClient::Fail(const absl::Status& why, double seconds) {
  CountFailure();
  return Bury(why, seconds);
}

absl::Status HelperClient::Bury(const absl::Status& why, double seconds) {
  const std::unique_ptr<Process> process = std::move(process_);
  Pending pending;
  {
    const absl::MutexLock lock(&state_mutex_);
    pending = std::exchange(pending_, {});
  }
  const os::ChildProcess::Ending ending =
      process->child->End(absl::IsUnavailable(why) ? kSecondsToEnd : 0);
  absl::Status error = Explain(ending, options_.memory_bytes);
  if (pending.given_up) seconds = std::round(Clock::System().SecondsSince(pending.since_ns));
  if (pending.given_up || absl::IsDeadlineExceeded(why)) {
    error = absl::DeadlineExceededError(
        absl::StrCat("ONNX Runtime did not answer within ", seconds, " s and was ended"));
  } else if (!absl::IsUnavailable(why)) {
    error = absl::InternalError(absl::StrCat("the process of ONNX Runtime: ", why.message()));
  }
  Log().warn("{}", std::string(error.message()));
  return error;
}

}  // namespace quotient::kernels::onnxruntime
