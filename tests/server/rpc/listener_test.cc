#include "server/rpc/listener.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <netdb.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/strip.h"
#include "absl/synchronization/mutex.h"
#include "core/os/files.h"
#include "server/rpc/addresses.h"
#include "tests/support/status_matchers.h"

namespace quotient::rpc {
namespace {

using ::testing::HasSubstr;
using ::testing::StartsWith;

constexpr int kSilenceMs = 10'000;

// Keeps what a listener accepts.
class Accepted {
 public:
  void StartOn(Listener* listener) {
    listener->Start([this](int /*listening*/, int connection) {
      absl::MutexLock lock(&mutex_);
      connections_.emplace_back(connection);
    });
  }
  // Waits until there are so many.
  void Await(size_t count) {
    absl::MutexLock lock(&mutex_);
    const auto is_there = [&] { return connections_.size() >= count; };
    mutex_.Await(absl::Condition(&is_there));
  }

 private:
  absl::Mutex mutex_;
  std::vector<os::Fd> connections_ ABSL_GUARDED_BY(mutex_);
};

// Connects to an address of a listener. Not valid if that fails.
os::Fd Connect(const std::string& address) {
  if (address.starts_with("unix:")) {
    sockaddr_un there = {.sun_family = AF_UNIX};
    address.copy(there.sun_path, sizeof(there.sun_path) - 1, /*pos=*/5);
    os::Fd socket(::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0));
    const bool connected =
        connect(socket.get(), reinterpret_cast<const sockaddr*>(&there), sizeof(there)) == 0;
    return connected ? std::move(socket) : os::Fd();
  }
  const Addresses addresses = Resolve(address);
  if (addresses == nullptr) return os::Fd();
  os::Fd socket(::socket(addresses->ai_family, SOCK_STREAM | SOCK_CLOEXEC, 0));
  const bool connected = connect(socket.get(), addresses->ai_addr, addresses->ai_addrlen) == 0;
  return connected ? std::move(socket) : os::Fd();
}

// Whether the other side ends the connection, for which this waits.
bool IsEnded(const os::Fd& socket) {
  char byte;
  return recv(socket.get(), &byte, 1, 0) <= 0;
}

TEST(ListenerTest, AddressesThatMachinesHave) {
  const std::string path = absl::StrCat(::testing::TempDir(), "/listener_test.sock");
  for (const std::string& listen : {std::string("127.0.0.1:0"), std::string("localhost:0"),
                                    std::string("0.0.0.0:0"), absl::StrCat("unix:", path)}) {
    Accepted accepted;
    auto listener = Listener::Bind(listen, {}, kSilenceMs);
    ASSERT_OK(listener) << listen;
    accepted.StartOn(listener->get());
    const std::string& address = (*listener)->address();
    EXPECT_THAT(address, StartsWith(std::string(absl::StripSuffix(listen, "0"))));
    EXPECT_TRUE(Connect(address).valid()) << address;
    accepted.Await(1);
    (*listener)->Stop();
    EXPECT_FALSE(Connect(address).valid()) << address;
  }
  // What a server has left that was killed is no obstacle.
  EXPECT_OK(Listener::Bind(absl::StrCat("unix:", path), {}, kSilenceMs));
  unlink(path.c_str());
}

TEST(ListenerTest, AllAddressesAreThoseOfBothFamilies) {
  if (!Listener::Bind("[::1]:0", {}, kSilenceMs).ok()) {
    GTEST_SKIP() << "this machine has no IPv6";
  }
  for (const std::string host : {"0.0.0.0", "[::]"}) {
    Accepted accepted;
    auto listener = Listener::Bind(absl::StrCat(host, ":0"), {}, kSilenceMs);
    ASSERT_OK(listener);
    accepted.StartOn(listener->get());
    const std::string port(absl::StripPrefix((*listener)->address(), host));
    EXPECT_TRUE(Connect("127.0.0.1" + port).valid());
    EXPECT_TRUE(Connect("[::1]" + port).valid());
    accepted.Await(2);
  }
}

TEST(ListenerTest, AddressesThatCannotBeBoundAreErrors) {
  auto first = Listener::Bind("127.0.0.1:0", {}, kSilenceMs);
  ASSERT_OK(first);
  for (const std::string& listen :
       {(*first)->address(), std::string("127.0.0.1"), std::string("127.0.0.1:"),
        std::string("192.0.2.1:0"), std::string("no.such.host.invalid:1"),
        std::string("unix:/no/such/folder/socket"),
        absl::StrCat("unix:/", std::string(200, 'a'))}) {
    EXPECT_THAT(Listener::Bind(listen, {}, kSilenceMs).status().message(),
                HasSubstr("cannot listen on"))
        << listen;
  }
}

TEST(ListenerTest, OfTooManyConnectionsTheOldestEnds) {
  Accepted accepted;
  auto listener = Listener::Bind("127.0.0.1:0", {.most = 3}, kSilenceMs);
  ASSERT_OK(listener);
  accepted.StartOn(listener->get());
  std::vector<os::Fd> clients;
  for (int i = 0; i < 5; ++i) clients.push_back(Connect((*listener)->address()));
  accepted.Await(5);
  EXPECT_TRUE(IsEnded(clients[0]));
  EXPECT_TRUE(IsEnded(clients[1]));
}

TEST(ListenerTest, ALackOfDescriptorsEndsTheOldestAndPasses) {
  Accepted accepted;
  auto listener = Listener::Bind("127.0.0.1:0", {}, kSilenceMs);
  ASSERT_OK(listener);
  accepted.StartOn(listener->get());
  const os::Fd first = Connect((*listener)->address());
  accepted.Await(1);
  os::Fd second(socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
  const Addresses there = Resolve((*listener)->address());
  rlimit before;
  ASSERT_EQ(getrlimit(RLIMIT_NOFILE, &before), 0);
  const rlimit none = {.rlim_cur = static_cast<rlim_t>(second.get()) + 1,
                       .rlim_max = before.rlim_max};
  ASSERT_EQ(setrlimit(RLIMIT_NOFILE, &none), 0);
  EXPECT_EQ(connect(second.get(), there->ai_addr, there->ai_addrlen), 0);
  EXPECT_TRUE(IsEnded(first));
  ASSERT_EQ(setrlimit(RLIMIT_NOFILE, &before), 0);
  accepted.Await(2);
}

}  // namespace
}  // namespace quotient::rpc
