#include "tests/bench/service/garbage.h"

#include <grpcpp/generic/generic_stub.h>
#include <netinet/in.h>
#include <sys/socket.h>

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <iterator>

#include "absl/strings/numbers.h"
#include "core/os/files.h"

namespace quotient::bench {

std::string RandomBytes(Rng& rng, size_t size) {
  std::string bytes(size, '\0');
  std::ranges::generate(bytes, [&rng] { return static_cast<char>(rng.Below(256)); });
  return bytes;
}

absl::Status SendGarbageCall(const std::shared_ptr<grpc::Channel>& channel, Rng& rng) {
  const char* const methods[] = {"/quotient.v1.OptimizerService/SubmitJob",
                                 "/quotient.v1.OptimizerService/WatchJob",
                                 "/quotient.v1.BlobService/Upload", "/quotient.v1.Nothing/None"};
  const grpc::Slice slice(RandomBytes(rng, rng.Below(5000)));
  const grpc::ByteBuffer request(&slice, 1);
  grpc::GenericStub stub(channel);
  grpc::CompletionQueue queue;
  grpc::ClientContext context;
  context.set_deadline(std::chrono::system_clock::now() + std::chrono::seconds(20));
  const auto call =
      stub.PrepareUnaryCall(&context, methods[rng.Below(std::size(methods))], request, &queue);
  call->StartCall();
  grpc::ByteBuffer response;
  grpc::Status status;
  call->Finish(&response, &status, nullptr);
  void* tag = nullptr;
  bool ok = false;
  queue.Next(&tag, &ok);
  queue.Shutdown();
  while (queue.Next(&tag, &ok)) {
  }
  if (!status.ok()) return absl::OkStatus();
  return absl::InternalError("garbage was taken for a call");
}

absl::Status SendGarbageBytes(const std::string& server, Rng& rng) {
  const size_t colon = server.rfind(':');
  int port = 0;
  if (!absl::SimpleAtoi(server.substr(colon + 1), &port)) {
    return absl::InvalidArgumentError("--server: no port");
  }
  const os::Fd connection(socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
  sockaddr_in address{.sin_family = AF_INET,
                      .sin_port = htons(static_cast<uint16_t>(port)),
                      .sin_addr = {htonl(INADDR_LOOPBACK)},
                      .sin_zero = {}};
  if (connect(connection.get(), reinterpret_cast<const sockaddr*>(&address), sizeof address) != 0) {
    return absl::InternalError("the server takes no connection");
  }
  const std::string bytes = RandomBytes(rng, rng.Below(3000));
  send(connection.get(), bytes.data(), bytes.size(), MSG_NOSIGNAL);
  return absl::OkStatus();
}

}  // namespace quotient::bench
