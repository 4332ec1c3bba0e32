// A program in the place of quotient-job. The name of the model says what it does.

#include <signal.h>
#include <unistd.h>

#include <cstdlib>
#include <fstream>
#include <string>

#include "core/base/reason.h"
#include "core/os/child_process.h"
#include "core/os/message_channel.h"
#include "proto/wire/digest.h"
#include "proto/wire/progress.h"
#include "proto/wire/status.h"
#include "server/jobs/convert.h"
#include "server/runner/protocol.h"
#include "server/runner/runner.pb.h"

namespace quotient::runner {
namespace {

class FakeJob {
 public:
  FakeJob() : channel_(os::Fd(os::kChildSocket), kMostMessageBytes) {}

  int Serve() {
    v1::Request request;
    request.ParseFromString(Receive());
    if (request.run().job().model_name() == "broken program") return 127;
    SendBegun();
    if (request.call_case() == v1::Request::CALL_NOT_SET) return End(absl::OkStatus());
    if (request.has_inspect()) return Describe(request.inspect());
    if (request.has_validate()) return Validate(request.validate());
    if (request.has_verify()) return Verify(request.verify());
    if (request.has_replay()) return Replay(request.replay());
    outbox_ = request.setup().outbox_path();
    return Run(request.run());
  }

 private:
  std::string Receive() {
    std::string message;
    if (!channel_.Receive(&message, os::kNever).ok()) _exit(EXIT_FAILURE);
    return message;
  }
  void Send(const v1::Event& event) {
    if (!channel_.Send(event.SerializeAsString(), os::kNever).ok()) _exit(EXIT_FAILURE);
  }
  int End(const absl::Status& status, v1::Event last = {}) {
    *last.mutable_ended()->mutable_status() = wire::ToProto(status);
    Send(last);
    return EXIT_SUCCESS;
  }

  void SendBegun() {
    v1::Event begun;
    begun.mutable_begun()->set_engine_version("engine 1");
    begun.mutable_begun()->set_protocol(kProtocol);
    Send(begun);
  }

  int Describe(const v1::Inspect& inspect) {
    if (inspect.name() == "crash") raise(SIGKILL);
    if (inspect.name() == "hang") return pause();
    v1::Event last;
    last.mutable_ended()->set_summary_json("{\"model\":\"" + inspect.name() + "\"}");
    return End(absl::OkStatus(), last);
  }

  int Validate(const v1::Validate& validate) {
    if (validate.name() == "wrong") return End(MakeError(Reason::kModelCyclic, "a cycle"));
    v1::Event last;
    auto& validation = *last.mutable_ended()->mutable_validation();
    if (validate.name() == "odd") {
      *validation.mutable_untouched() = wire::ToProto(MakeError(Reason::kModelShape, "odd"));
    }
    validation.add_notes(std::to_string(validate.options().threads()));
    return End(absl::OkStatus(), last);
  }

  int Verify(const v1::Verify& verify) {
    if (verify.job().model_name() == "hang") return pause();
    v1::Event last;
    auto& verification = *last.mutable_ended()->mutable_verification();
    verification.set_is_same(verify.job().model_name() == "same");
    verification.set_comparison_json(verify.job().name());
    return End(absl::OkStatus(), last);
  }

  int Replay(const v1::Replay& replay) {
    if (replay.job().model_name() == "hang") return pause();
    if (replay.job().model_name() == "wrong") {
      return End(MakeError(Reason::kJournalInvalid, "rewrite 3 does not match"));
    }
    v1::Event last;
    auto& made = *last.mutable_ended()->mutable_replay();
    *made.mutable_model() = wire::ToProto(BlobId::Of(replay.job().name()));
    made.set_is_result(replay.job().model_name() == "same");
    made.set_rewrites(3);
    return End(absl::OkStatus(), last);
  }

  int Run(const v1::Run& run) {
    const std::string& what = run.job().model_name();
    v1::Event event;
    *event.mutable_progress() = wire::ToProto(Progress{.phase = "search", .enodes = 7});
    Send(event);
    if (what == "crash") {
      signal(SIGSEGV, SIG_DFL);  // Sanitizers handle it otherwise.
      raise(SIGSEGV);
    }
    if (what == "exit") return 5;
    if (what == "out of memory") return kExitOutOfMemory;
    if (what == "noise") return channel_.Write("\xff\xff\xff\xff", os::kNever).ok() ? 0 : 1;
    if (what == "hang") return pause();
    if (what == "hungry") {
      const std::string taken(512 << 20, 'x');
      return pause();
    }
    if (what == "waits") {
      event.set_waits(true);
      for (int i = 0; i < 10; ++i) {
        usleep(100'000);
        Send(event);
      }
    }
    if (what == "uses its temporary folder") {
      Write(std::string(getenv("TMPDIR")) + "/file", "x");
    }
    if (what == "leaves a process") {
      const pid_t left = fork();
      if (left == 0) return pause();
      Write(outbox_ + "/../left", std::to_string(left));
    }
    while (what == "talks on") {
      usleep(10'000);
      Send(event);
    }
    if (what == "damaged") {
      *event.mutable_damaged_blob() = wire::ToProto(BlobId::Of("damaged"));
      Send(event);
    }
    if (what == "wrong") return End(MakeError(Reason::kModelCyclic, "node 'x': a cycle"));
    if (what == "until told to finish") {
      v1::Order order;
      order.ParseFromString(Receive());
      if (order.kind() != v1::Order::FINISH) return EXIT_FAILURE;
    }
    if (what == "until cancelled") {
      v1::Order order;
      order.ParseFromString(Receive());
      if (order.kind() != v1::Order::CANCEL) return EXIT_FAILURE;
      event.set_checkpoint("after " + run.checkpoint());
      Send(event);
      return End(MakeError(Reason::kCancelled, "the job was cancelled"));
    }
    Write(outbox_ + "/made", "by " + run.job().name());
    v1::Event last;
    *last.mutable_ended()->mutable_result() = jobs::ToProto(
        jobs::JobResult{.model = BlobId::Of("model"), .engine_version = run.job().name()});
    last.mutable_ended()->mutable_figures()->set_simulations(12);
    return End(absl::OkStatus(), last);
  }

  void Write(const std::string& path, const std::string& text) {
    std::ofstream file(path);
    file << text;
    if (!file.flush()) _exit(EXIT_FAILURE);
  }

  os::MessageChannel channel_;
  std::string outbox_;
};

}  // namespace
}  // namespace quotient::runner

int main() { return quotient::runner::FakeJob().Serve(); }
