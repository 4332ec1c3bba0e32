#include "core/kernels/onnxruntime/helper/serve.h"

#include <map>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/container/flat_hash_set.h"
#include "absl/strings/str_cat.h"
#include "core/base/status_macros.h"
#include "core/kernels/onnxruntime/helper/kept_values.h"
#include "core/kernels/onnxruntime/helper/memory.h"
#include "core/kernels/onnxruntime/helper/run_records.h"
#include "core/kernels/onnxruntime/helper/summary.h"
#include "core/kernels/onnxruntime/model_folder.h"
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
      case Request::kKeep: {
        absl::StatusOr<Reply> reply = Keep(request.keep());
        ReturnMemory();
        return reply;
      }
      case Request::kTakeRecords:
        return TakeRecords(request.take_records());
      case Request::kUnload:
        sessions_.erase(request.unload().session());
        records_.erase(request.unload().session());
        stores_.erase(request.unload().session());
        ReturnMemory();
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

  absl::StatusOr<Reply> Load(const ort::v1::Load& load) {
    if (load.level() != ort::v1::Load::LEVEL_NONE && load.level() != ort::v1::Load::LEVEL_ALL) {
      return absl::InvalidArgumentError("no known level of optimization");
    }
    LoadOptions how = {.optimizes = load.level() == ort::v1::Load::LEVEL_ALL,
                       .runs_often = !load.runs_once()};
    how.first_run_plans = how.optimizes && how.runs_often;
    if (load.wants_dump()) {
      how.dump = PathOf(kDumpFile);
      how.dump_weights = kDumpWeightsFile;
    }
    std::unique_ptr<RunRecords> records;
    if (load.records()) {
      QUOTIENT_ASSIGN_OR_RETURN(records, RunRecords::Create(folder_));
      how.profile_prefix = records->prefix();
    }
    std::optional<ReturningLargeBlocks> returning;
    if (how.optimizes) returning.emplace();
    QUOTIENT_ASSIGN_OR_RETURN(std::unique_ptr<Session> session,
                              runtime_.Load(PathOf(kModelFile), how));
    returning.reset();
    ReturnMemory();
    const int64_t id = ++last_id_;
    sessions_.emplace(id, std::move(session));
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

  absl::StatusOr<Reply> Keep(const ort::v1::Keep& keep) {
    QUOTIENT_RETURN_IF_ERROR(Find(keep.session()).status());
    const auto ended = sessions_.extract(keep.session());
    const Session& session = *ended.mapped();
    QUOTIENT_ASSIGN_OR_RETURN(const int64_t id, StoreOf(keep));
    KeptValues& store = stores_.at(id);
    const absl::flat_hash_set<std::string> kept(keep.values().begin(), keep.values().end());
    Reply reply;
    ort::v1::Kept& answer = *reply.answer.mutable_kept();
    answer.set_store(id);
    for (size_t i = 0; i < session.num_outputs(); ++i) {
      const absl::StatusOr<TensorView> output = session.Output(i);
      ort::v1::Kept::Output& told = *answer.add_outputs();
      if (!output.ok()) continue;
      told = Summarize(*output);
      if (kept.contains(output->name)) QUOTIENT_RETURN_IF_ERROR(store.Add(*output));
    }
    return reply;
  }

  // The store that is meant, which is made if it is a new one.
  absl::StatusOr<int64_t> StoreOf(const ort::v1::Keep& keep) {
    if (keep.store() != 0) {
      if (stores_.contains(keep.store())) return keep.store();
      return absl::NotFoundError(absl::StrCat("no store ", keep.store()));
    }
    QUOTIENT_ASSIGN_OR_RETURN(KeptValues store, KeptValues::Create(folder_));
    stores_.emplace(++last_id_, std::move(store));
    return last_id_;
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
        const auto store = stores_.find(source->second.store());
        if (store == stores_.end()) return absl::NotFoundError("an input from no store");
        QUOTIENT_ASSIGN_OR_RETURN(HostTensor value, store->second.Read(source->second.value()));
        value.name = input.name();
        inputs.push_back(std::move(value));
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
    const bool plans = session->plans();
    const os::Stopwatch stopwatch(*probe_);
    QUOTIENT_RETURN_IF_ERROR(session->Run(run.times()));
    const os::Stopwatch::Reading reading = stopwatch.Stop();
    if (plans) ReturnMemory();
    Reply reply;
    reply.answer.mutable_ran()->set_us(reading.us);
    reply.answer.mutable_ran()->set_clean(reading.clean);
    return reply;
  }

  absl::StatusOr<Reply> Fetch(const ort::v1::Fetch& fetch) {
    QUOTIENT_ASSIGN_OR_RETURN(Session* const session, Find(fetch.session()));
    Reply reply;
    for (size_t i = 0; i < session->num_outputs(); ++i) {
      QUOTIENT_ASSIGN_OR_RETURN(const TensorView output, session->Output(i));
      TensorInfo& info = *reply.answer.mutable_fetched()->add_outputs();
      info.set_name(output.name);
      info.set_dtype(output.dtype);
      info.mutable_dims()->Add(output.dims.begin(), output.dims.end());
      reply.blobs.emplace_back(output.bytes);
    }
    return reply;
  }

  const Runtime& runtime_;
  const std::string folder_;
  const std::unique_ptr<os::Probe> probe_;
  std::map<int64_t, std::unique_ptr<RunRecords>> records_;  // Of the sessions that have some.
  std::map<int64_t, std::unique_ptr<Session>> sessions_;    // They end before their records.
  std::map<int64_t, KeptValues> stores_;
  int64_t last_id_ = 0;  // Of a session or store.
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
