// quotient-ort: runs ONNX Runtime in a process of its own, which may crash, hang or take too much
// memory. Started by Quotient's programs, with the socket of helper.proto as descriptor 3:
//
//   quotient-ort LIBRARY THREADS MEMORY_BYTES FOLDER PRIORITY
//
// LIBRARY is the path of libonnxruntime.so, FOLDER the one that it works in (model_folder.h), and
// PRIORITY one of the words of channel.h. Ends when the other end of the socket is gone.

#include <fcntl.h>
#include <poll.h>
#include <sys/resource.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <exception>
#include <filesystem>
#include <new>
#include <span>
#include <string>
#include <system_error>
#include <thread>

#include "absl/status/status.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "core/base/status_macros.h"
#include "core/kernels/onnxruntime/helper/memory.h"
#include "core/kernels/onnxruntime/helper/serve.h"
#include "core/kernels/onnxruntime/library.h"
#include "core/os/child_process.h"
#include "core/os/child_setup.h"
#include "core/os/guarded_main.h"
#include "core/os/precedence.h"

namespace quotient::kernels::onnxruntime {
namespace {

// Of os::EndBeforeOthers: before the process that started it.
constexpr int kMostScore = 1000;

struct Arguments {
  std::string library;
  ServeOptions serve;
  uint64_t memory_bytes = 0;
  bool takes_precedence = false;
};

bool Parse(std::span<char* const> words, Arguments* arguments) {
  if (words.size() != 5) return false;
  arguments->library = words[0];
  if (!absl::SimpleAtoi(words[1], &arguments->serve.threads)) return false;
  if (!absl::SimpleAtoi(words[2], &arguments->memory_bytes)) return false;
  arguments->serve.most_request_bytes = arguments->memory_bytes;
  arguments->serve.folder = words[3];
  arguments->takes_precedence = words[4] == absl::string_view(kTakesPrecedence);
  return true;
}

// Addresses are limited where a sanitizer does not need terabytes of them. What is beyond the limit
// fails in this process.
void LimitMemory(uint64_t bytes) {
#if !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__)
  rlimit limit{RLIM_INFINITY, RLIM_INFINITY};
  getrlimit(RLIMIT_AS, &limit);
  const rlim_t least = std::min({limit.rlim_cur, limit.rlim_max, rlim_t{bytes}});
  limit = {least, least};
  if (setrlimit(RLIMIT_AS, &limit) != 0) std::perror("quotient-ort: limit of memory");
#endif
}

// Current releases of the library report to their makers what is run with them. Models are their
// owners' business, and threads that send something would disturb what is timed.
void DisableTelemetry() { setenv("ORT_DISABLE_TELEMETRY", "1", /*overwrite=*/1); }

// A model may name files by relative paths. It must find no others than its own.
absl::Status EnterFolder(const std::string& folder) {
  if (chdir(folder.c_str()) == 0) return absl::OkStatus();
  return absl::FailedPreconditionError(
      absl::StrCat("ONNX Runtime's process cannot work in ", folder, ": ", strerror(errno)));
}

// The program that made the folder removes it, too, unless it was killed.
void RemoveFolder(const std::string& folder) {
  std::error_code ignored;
  std::filesystem::remove_all(folder, ignored);
}

// Ends this process when the other end of the socket is gone, even in the middle of a run.
void EndWithParent(const std::string& folder) {
  std::thread([folder] {
    pollfd socket{.fd = os::kChildSocket, .events = POLLRDHUP, .revents = 0};
    while (poll(&socket, 1, -1) <= 0) {
    }
    RemoveFolder(folder);
    _exit(0);
  }).detach();
}

absl::Status Run(const Arguments& arguments, Channel& channel) {
  QUOTIENT_ASSIGN_OR_RETURN(const Library library, LoadLibrary(arguments.library));
  // The library's path may be relative.
  QUOTIENT_RETURN_IF_ERROR(EnterFolder(arguments.serve.folder));
  QUOTIENT_ASSIGN_OR_RETURN(const std::unique_ptr<Runtime> runtime,
                            Runtime::Create(library, arguments.serve.threads));
  ort::v1::Answer hello;
  hello.mutable_greeting()->set_protocol(kHelperProtocol);
  hello.mutable_greeting()->set_version(library.version);
  hello.mutable_greeting()->set_build(library.build);
  hello.mutable_greeting()->mutable_providers()->Assign(library.providers.begin(),
                                                        library.providers.end());
  QUOTIENT_RETURN_IF_ERROR(channel.Send(hello, {}, kNever));
  return Serve(*runtime, arguments.serve, channel);
}

// Tells the other end why this process ends. Returns its exit status.
int Fail(const absl::Status& status, Channel& channel) {
  ort::v1::Answer error;
  error.set_code(static_cast<int>(status.code()));
  error.set_message(std::string(status.message()));
  return channel.Send(error, {}, kNever).ok() ? 1 : 0;
}

int Main(std::span<char* const> words) {
  Arguments arguments;
  if (!Parse(words, &arguments) || fcntl(os::kChildSocket, F_GETFD) < 0) {
    std::fputs("quotient-ort is started by Quotient's programs alone\n", stderr);
    return 2;
  }
  os::IgnoreRequestsToEnd();
  os::EndBeforeOthers(kMostScore);
  KeepFreedMemory();
  DisableTelemetry();
  LimitMemory(arguments.memory_bytes);
  // All threads that there will be have it from this one.
  if (arguments.takes_precedence) os::TakePrecedence();
  EndWithParent(arguments.serve.folder);
  Channel channel((os::Fd(os::kChildSocket)));
  try {
    const absl::Status status = Run(arguments, channel);
    RemoveFolder(arguments.serve.folder);
    return absl::IsUnavailable(status) ? 0 : Fail(status, channel);
  } catch (const std::bad_alloc&) {
    return kHelperOutOfMemory;
  } catch (const std::exception& error) {
    return Fail(absl::InternalError(error.what()), channel);
  }
}

}  // namespace
}  // namespace quotient::kernels::onnxruntime

int main(int argc, char** argv) {
  using quotient::kernels::onnxruntime::kHelperOutOfMemory;
  return quotient::os::GuardedMain(
      "quotient-ort", {.other = EXIT_FAILURE, .out_of_memory = kHelperOutOfMemory}, [&] {
        return quotient::kernels::onnxruntime::Main({argv + 1, static_cast<size_t>(argc - 1)});
      });
}
