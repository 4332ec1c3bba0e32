#include "server/ops/exporter.h"

#include <civetweb.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <utility>
#include <vector>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "tests/support/status_matchers.h"

namespace quotient::ops {
namespace {

using Obstacle = Readiness::Obstacle;
using ::testing::HasSubstr;

struct Answer {
  int status = 0;
  std::string body;
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

  Answer Ask(const std::string& method, const std::string& path) const {
    const std::string& address = exporter_->address();
    int port = 0;
    EXPECT_TRUE(absl::SimpleAtoi(address.substr(address.rfind(':') + 1), &port));
    char error[256] = "";
    mg_connection* const connection =
        mg_download("127.0.0.1", port, /*use_ssl=*/0, error, sizeof(error),
                    "%s %s HTTP/1.0\r\n\r\n", method.c_str(), path.c_str());
    if (connection == nullptr) {
      ADD_FAILURE() << error;
      return {};
    }
    Answer answer{.status = mg_get_response_info(connection)->status_code};
    char buffer[4096];
    for (;;) {
      const int size = mg_read(connection, buffer, sizeof(buffer));
      if (size <= 0) break;
      answer.body.append(buffer, static_cast<size_t>(size));
    }
    mg_close_connection(connection);
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
            .headers = "X-Echo: 1\r\n",
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

// As of port scanners and of scrapers that hang.
TEST_F(ExporterTest, ConnectionsThatSendNothingDoNotSilenceIt) {
  const std::string& address = exporter_->address();
  int port = 0;
  ASSERT_TRUE(absl::SimpleAtoi(address.substr(address.rfind(':') + 1), &port));
  std::vector<mg_connection*> idle;
  char error[256] = "";
  for (int i = 0; i < 12; ++i) {
    idle.push_back(mg_connect_client("127.0.0.1", port, 0, error, sizeof(error)));
    ASSERT_NE(idle.back(), nullptr) << error;
  }
  EXPECT_EQ(Ask("GET", "/livez").status, 200);
  for (mg_connection* const connection : idle) mg_close_connection(connection);
}

TEST_F(ExporterTest, AnAddressInUseIsAnError) {
  EXPECT_FALSE(Exporter::Start(exporter_->address(), Sources()).ok());
  EXPECT_EQ(Ask("GET", "/livez").status, 200);
}

}  // namespace
}  // namespace quotient::ops
