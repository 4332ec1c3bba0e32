#include "core/kernels/onnxruntime/helper/serve.h"

#include <fcntl.h>

#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "core/base/status_macros.h"
#include "core/kernels/onnxruntime/helper/run_records.h"
#include "core/kernels/onnxruntime/helper/summary.h"
#include "core/kernels/onnxruntime/helper/traced_graph.h"
#include "core/kernels/onnxruntime/model_folder.h"
#include "core/os/files.h"
#include "core/os/probe.h"

namespace quotient::kernels::onnxruntime {
namespace {

using ort::v1::Answer;
using ort::v1::Request;
using ort::v1::TensorInfo;

// The content of an answer: the message, and byte strings that it owns.
struct Reply {
  Answer answer;
  std::vector<std::string> blobs;
};

class Server {
 public:
  Server(const Runtime& runtime, const ServeOptions& options)
      : runtime_(runtime), folder_(options.folder), probe_(os::NewSystemProbe(options.threads)) {}

  absl::StatusOr<Reply> Handle(const Request& request, std::vector<std::string> blobs) {
    switch (request.call_case()) {
      case Request::kLoad:
        return Load(request.load());
      case Request::kFeed:
        return Feed(request.feed(), std::move(blobs));
      case Request::kRun:
        return Run(request.run());
      case Request::kFetch:
        return Fetch(request.fetch());
      case Request::kTrace:
        return Trace();
      case Request::kDescribe:
        return Describe(request.describe());
      case Request::kTakeRecords:
        return TakeRecords(request.take_records());
      case Request::kUnload:
        sessions_.erase(request.unload().session());
        records_.erase(request.unload().session());
        return Reply();
      case Request::CALL_NOT_SET:
        break;
    }
    return absl::InvalidArgumentError("a request asks for nothing that is known");
  }

 private:
  absl::StatusOr<Session*> Find(int64_t id) const {
    const auto found = sessions_.find(id);
    if (found == sessions_.end()) return absl::NotFoundError(absl::StrCat("no session ", id));
    return found->second.get();
  }

  std::string PathOf(absl::string_view name) const { return absl::StrCat(folder_, "/", name); }

  int64_t Keep(std::unique_ptr<Session> session) {
    sessions_.emplace(++last_session_, std::move(session));
    return last_session_;
  }

  absl::StatusOr<Reply> Load(const ort::v1::Load& load) {
    if (load.level() != ort::v1::Load::LEVEL_NONE && load.level() != ort::v1::Load::LEVEL_ALL) {
      return absl::InvalidArgumentError("no known level of optimization");
    }
    LoadOptions how = {.optimizes = load.level() == ort::v1::Load::LEVEL_ALL};
    if (load.wants_dump()) how.dump = PathOf(kDumpFile);
    std::unique_ptr<RunRecords> records;
    if (load.records()) {
      QUOTIENT_ASSIGN_OR_RETURN(records, RunRecords::Create(folder_));
      how.profile_prefix = records->prefix();
    }
    QUOTIENT_ASSIGN_OR_RETURN(std::unique_ptr<Session> session,
                              runtime_.Load(PathOf(kModelFile), how));
    const int64_t id = Keep(std::move(session));
    if (records != nullptr) records_.emplace(id, std::move(records));
    Reply reply;
    reply.answer.mutable_loaded()->set_session(id);
    return reply;
  }

  absl::StatusOr<Reply> TakeRecords(const ort::v1::TakeRecords& request) {
    const auto found = records_.find(request.session());
    if (found == records_.end()) return absl::NotFoundError("no session that records its runs");
    const std::unique_ptr<RunRecords> records = std::move(found->second);
    records_.erase(found);
    sessions_.erase(request.session());  // Its end writes the records.
    QUOTIENT_ASSIGN_OR_RETURN(const std::vector<KernelRecord> kernels, records->Read());
    Reply reply;
    for (const KernelRecord& kernel : kernels) {
      ort::v1::Records::Kernel& told = *reply.answer.mutable_records()->add_kernels();
      told.set_name(kernel.name);
      told.set_op(kernel.op);
      told.mutable_us()->Add(kernel.us.begin(), kernel.us.end());
    }
    return reply;
  }

  // Neither session runs more than once.
  absl::StatusOr<Reply> Trace() {
    const std::string dump = PathOf(kDumpFile);
    QUOTIENT_RETURN_IF_ERROR(
        runtime_.Load(PathOf(kModelFile), {.runs_often = false, .dump = dump}).status());
    QUOTIENT_ASSIGN_OR_RETURN(TracedGraph traced, TraceFile(dump));
    QUOTIENT_ASSIGN_OR_RETURN(std::unique_ptr<Session> session,
                              runtime_.Load(dump, {.optimizes = false, .runs_often = false}));
    Reply reply;
    reply.blobs.push_back(std::move(traced.outline));
    ort::v1::Traced& answer = *reply.answer.mutable_traced();
    answer.set_session(Keep(std::move(session)));
    answer.mutable_values()->Assign(traced.values.begin(), traced.values.end());
    return reply;
  }

  // Makes all values of the model in a file outputs.
  static absl::StatusOr<TracedGraph> TraceFile(const std::string& path) {
    QUOTIENT_ASSIGN_OR_RETURN(const os::Fd file, os::OpenFile(path, O_RDWR | O_APPEND | O_CLOEXEC));
    QUOTIENT_ASSIGN_OR_RETURN(const auto model, os::MappedFile::Map(file, path));
    QUOTIENT_ASSIGN_OR_RETURN(TracedGraph traced, TraceGraph(model->bytes()));
    QUOTIENT_RETURN_IF_ERROR(os::WriteFully(file, traced.more_outputs, path));
    return traced;
  }

  absl::StatusOr<Reply> Describe(const ort::v1::Describe& describe) {
    QUOTIENT_ASSIGN_OR_RETURN(Session* const session, Find(describe.session()));
    Reply reply;
    for (size_t i = 0; i < session->num_outputs(); ++i) {
      const absl::StatusOr<HostTensor> output = session->Output(i);
      ort::v1::Described::Output& described = *reply.answer.mutable_described()->add_outputs();
      if (output.ok()) described = Summarize(*output);
    }
    return reply;
  }

  absl::StatusOr<Reply> Feed(const ort::v1::Feed& feed, std::vector<std::string> blobs) {
    QUOTIENT_ASSIGN_OR_RETURN(Session* const session, Find(feed.session()));
    if (blobs.size() != static_cast<size_t>(feed.inputs_size())) {
      return absl::InvalidArgumentError("the bytes of each input are wanted");
    }
    std::vector<HostTensor> inputs;
    for (int i = 0; i < feed.inputs_size(); ++i) {
      const TensorInfo& input = feed.inputs(i);
      const auto source = feed.sources().find(i);
      if (source != feed.sources().end()) {
        QUOTIENT_ASSIGN_OR_RETURN(Session* const other, Find(source->second.session()));
        QUOTIENT_ASSIGN_OR_RETURN(HostTensor output, other->OutputNamed(source->second.output()));
        output.name = input.name();
        inputs.push_back(std::move(output));
        continue;
      }
      inputs.push_back({.name = input.name(),
                        .dtype = input.dtype(),
                        .dims = {input.dims().begin(), input.dims().end()},
                        .bytes = std::move(blobs[static_cast<size_t>(i)])});
    }
    QUOTIENT_RETURN_IF_ERROR(
        session->Feed(std::move(inputs), {feed.outputs().begin(), feed.outputs().end()}));
    return Reply();
  }

  absl::StatusOr<Reply> Run(const ort::v1::Run& run) {
    QUOTIENT_ASSIGN_OR_RETURN(Session* const session, Find(run.session()));
    const os::Stopwatch stopwatch(*probe_);
    QUOTIENT_RETURN_IF_ERROR(session->Run(run.times()));
    const os::Stopwatch::Reading reading = stopwatch.Stop();
    Reply reply;
    reply.answer.mutable_ran()->set_us(reading.us);
    reply.answer.mutable_ran()->set_clean(reading.clean);
    return reply;
  }

  absl::StatusOr<Reply> Fetch(const ort::v1::Fetch& fetch) {
    QUOTIENT_ASSIGN_OR_RETURN(Session* const session, Find(fetch.session()));
    QUOTIENT_ASSIGN_OR_RETURN(std::vector<HostTensor> outputs, session->Outputs());
    Reply reply;
    for (HostTensor& output : outputs) {
      TensorInfo& info = *reply.answer.mutable_fetched()->add_outputs();
      info.set_name(output.name);
      info.set_dtype(output.dtype);
      info.mutable_dims()->Add(output.dims.begin(), output.dims.end());
      reply.blobs.push_back(std::move(output.bytes));
    }
    return reply;
  }

  const Runtime& runtime_;
  const std::string folder_;
  const std::unique_ptr<os::Probe> probe_;
  std::map<int64_t, std::unique_ptr<RunRecords>> records_;  // Of the sessions that have some.
  std::map<int64_t, std::unique_ptr<Session>> sessions_;    // They end before their records.
  int64_t last_session_ = 0;
};

Reply ToReply(absl::StatusOr<Reply> reply) {
  if (reply.ok()) return *std::move(reply);
  Reply error;
  error.answer.set_code(static_cast<int>(reply.status().code()));
  error.answer.set_message(std::string(reply.status().message()));
  return error;
}

}  // namespace

absl::Status Serve(const Runtime& runtime, const ServeOptions& options, Channel& channel) {
  Server server(runtime, options);
  for (;;) {
    Request request;
    std::vector<std::string> blobs;
    QUOTIENT_RETURN_IF_ERROR(channel.Receive(options.most_request_bytes, kNever, &request, &blobs));
    const Reply reply = ToReply(server.Handle(request, std::move(blobs)));
    const std::vector<absl::string_view> bytes(reply.blobs.begin(), reply.blobs.end());
    QUOTIENT_RETURN_IF_ERROR(channel.Send(reply.answer, bytes, kNever));
  }
}

}  // namespace quotient::kernels::onnxruntime
