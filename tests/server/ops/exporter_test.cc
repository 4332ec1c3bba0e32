#include "server/ops/exporter.h"

#include <arpa/inet.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <netinet/in.h>
#include <sys/socket.h>

#include <cstdint>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "core/os/files.h"
#include "tests/support/status_matchers.h"

namespace quotient::ops {
namespace {

using Obstacle = Readiness::Obstacle;
using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::Not;

struct Answer {
  int status = 0;
  std::string head;
  std::string body;
};

// A connection to the exporter from an address of this machine.
class Client {
 public:
  explicit Client(const std::string& address, const char* from = "127.0.0.1")
      : socket_(socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0)) {
    sockaddr_in here = {.sin_family = AF_INET};
    sockaddr_in there = {.sin_family = AF_INET};
    int port = 0;
    EXPECT_TRUE(absl::SimpleAtoi(address.substr(address.rfind(':') + 1), &port));
    there.sin_port = htons(static_cast<uint16_t>(port));
    EXPECT_EQ(inet_pton(AF_INET, from, &here.sin_addr), 1);
    EXPECT_EQ(inet_pton(AF_INET, "127.0.0.1", &there.sin_addr), 1);
    EXPECT_EQ(bind(socket_.get(), reinterpret_cast<sockaddr*>(&here), sizeof(here)), 0);
    EXPECT_EQ(connect(socket_.get(), reinterpret_cast<sockaddr*>(&there), sizeof(there)), 0);
  }

  // Returns whether the connection took the bytes.
  bool Send(absl::string_view bytes) {
    return send(socket_.get(), bytes.data(), bytes.size(), MSG_NOSIGNAL) ==
           static_cast<ssize_t>(bytes.size());
  }
  // All that comes until the other side closes the connection.
  std::string Receive() {
    std::string received;
    char buffer[4096];
    for (;;) {
      const ssize_t size = recv(socket_.get(), buffer, sizeof(buffer), 0);
      if (size <= 0) return received;
      received.append(buffer, static_cast<size_t>(size));
    }
  }

 private:
  const os::Fd socket_;
};

class ExporterTest : public ::testing::Test {
 protected:
  ExporterTest() {
    auto exporter = Exporter::Start("127.0.0.1:0", Sources());
    EXPECT_OK(exporter);
    exporter_ = *std::move(exporter);
  }

  Exporter::Sources Sources() const {
    return {.collectables = {metrics_.registry()}, .readiness = &readiness_};
  }

  Answer Ask(const std::string& method, const std::string& path,
             const char* from = "127.0.0.1") const {
    Client client(exporter_->address(), from);
    EXPECT_TRUE(client.Send(absl::StrCat(method, " ", path, " HTTP/1.0\r\n\r\n")));
    const std::string received = client.Receive();
    const std::pair<std::string, std::string> parts =
        absl::StrSplit(received, absl::MaxSplits("\r\n\r\n", 1));
    Answer answer{.head = parts.first, .body = parts.second};
    const std::vector<std::string> words = absl::StrSplit(answer.head, ' ');
    EXPECT_TRUE(words.size() > 1 && absl::SimpleAtoi(words[1], &answer.status)) << received;
    return answer;
  }

  Metrics metrics_;
  Readiness readiness_{&metrics_};
  std::unique_ptr<Exporter> exporter_;
};

TEST_F(ExporterTest, MetricsAreServed) {
  const Answer answer = Ask("GET", "/metrics");
  EXPECT_EQ(answer.status, 200);
  EXPECT_THAT(answer.body, HasSubstr("\nquotient_ready 0\n"));
  EXPECT_THAT(answer.body, HasSubstr("\nquotient_upload_bytes_total 0\n"));
}

TEST_F(ExporterTest, LiveAndReadyAreApart) {
  EXPECT_EQ(Ask("GET", "/livez").status, 200);
  EXPECT_EQ(Ask("GET", "/readyz").status, 503);
  EXPECT_EQ(Ask("GET", "/readyz").body, "starting\n");
  readiness_.Set(Obstacle::kStarting, false);
  EXPECT_EQ(Ask("GET", "/readyz").status, 200);
  EXPECT_EQ(Ask("HEAD", "/readyz").status, 200);
  readiness_.Set(Obstacle::kStorage, true);
  readiness_.Set(Obstacle::kDraining, true);
  EXPECT_EQ(Ask("GET", "/readyz").status, 503);
  EXPECT_EQ(Ask("GET", "/readyz").body, "storage\ndraining\n");
  EXPECT_EQ(Ask("GET", "/livez").status, 200);
}

TEST_F(ExporterTest, OtherPathsAreNotFound) {
  EXPECT_EQ(Ask("GET", "/").status, 404);
  EXPECT_EQ(Ask("GET", "/livez/x").status, 404);
  EXPECT_EQ(Ask("GET", "/../etc/passwd").status, 404);
}

TEST_F(ExporterTest, PagesAreReadOnly) {
  EXPECT_EQ(Ask("POST", "/readyz").status, 405);
  EXPECT_EQ(Ask("DELETE", "/metrics").status, 405);
}

// Says what it was asked for.
class EchoingPages : public Pages {
 public:
  Page Answer(const PageRequest& request) override {
    return {.status = 418,
            .headers = {{"X-Echo", "1"}},
            .body = absl::StrCat(request.path, "|", request.query, "|", request.host)};
  }
};

class ExporterOfPagesTest : public ExporterTest {
 protected:
  ExporterOfPagesTest() {
    Exporter::Sources sources = Sources();
    sources.pages = &pages_;
    auto exporter = Exporter::Start("127.0.0.1:0", std::move(sources));
    EXPECT_OK(exporter);
    exporter_ = *std::move(exporter);
  }
  ~ExporterOfPagesTest() override { exporter_.reset(); }

  EchoingPages pages_;
};

TEST_F(ExporterOfPagesTest, WhatItDoesNotServeItselfGoesToThePages) {
  EXPECT_EQ(Ask("GET", "/").body, "/||");
  EXPECT_THAT(Ask("GET", "/").head,
              AllOf(HasSubstr("\r\nX-Echo: 1"), HasSubstr("\r\nCache-Control: no-store")));
  EXPECT_EQ(Ask("GET", "/jobs?state=failed&before=7").body, "/jobs|state=failed&before=7|");
  EXPECT_EQ(Ask("GET", "/jobs/a%3cb").body, "/jobs/a<b||");
  EXPECT_EQ(Ask("GET", "/livez/x").status, 418);
  EXPECT_EQ(Ask("HEAD", "/").body, "");
  EXPECT_EQ(Ask("GET", "/livez").body, "live\n");
  EXPECT_EQ(Ask("GET", "/readyz").status, 503);
  EXPECT_THAT(Ask("GET", "/metrics").body, HasSubstr("quotient_ready"));
}

TEST_F(ExporterOfPagesTest, PagesAreReadOnlyToo) {
  EXPECT_EQ(Ask("POST", "/").status, 405);
  EXPECT_EQ(Ask("PUT", "/jobs").status, 405);
}

// As of port scanners, of scrapers that hang, and of who wants to keep others out.
TEST_F(ExporterTest, ConnectionsThatAreHeldDoNotSilenceIt) {
  std::vector<std::unique_ptr<Client>> held;
  for (int i = 0; i < 200; ++i) {
    held.push_back(std::make_unique<Client>(exporter_->address(), "127.0.0.2"));
    held.back()->Send(i % 2 == 0 ? "" : "GET /metrics HTTP/1.1\r\nHost: a\r\nX-More: ");
    if (i % 50 == 0) EXPECT_EQ(Ask("GET", "/livez").status, 200);
  }
  EXPECT_EQ(Ask("GET", "/livez").status, 200);
  EXPECT_EQ(Ask("GET", "/livez", "127.0.0.2").status, 200) << "who holds them is answered, too";
  EXPECT_EQ(held.front()->Receive(), "") << "the oldest gave way";
}

TEST_F(ExporterTest, WhatIsNoRequestIsRefused) {
  for (const std::string& bytes :
       {std::string("no request at all\r\n\r\n"), std::string("\0\0\0\r\n\r\n", 7),
        absl::StrCat("GET /", std::string(100'000, 'a'))}) {
    Client client(exporter_->address());
    client.Send(bytes);
    EXPECT_THAT(client.Receive(), Not(HasSubstr(" 200 "))) << bytes.substr(0, 20);
  }
  EXPECT_EQ(Ask("GET", "/livez").status, 200);
}

TEST_F(ExporterTest, AnAddressThatCannotBeListenedOnIsAnError) {
  for (const char* const address :
       {"", "nowhere", "127.0.0.1:", "127.0.0.1:http?", "192.0.2.1:0"}) {
    EXPECT_FALSE(Exporter::Start(address, Sources()).ok()) << address;
  }
  EXPECT_FALSE(Exporter::Start(exporter_->address(), Sources()).ok());
  EXPECT_EQ(Ask("GET", "/livez").status, 200);
}

}  // namespace
}  // namespace quotient::ops
