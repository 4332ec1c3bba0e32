#include "core/kernels/shared_constants.h"

#include <gtest/gtest.h>

#include <atomic>
#include <cstddef>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "tests/support/status_matchers.h"

namespace quotient::kernels {
namespace {

// Memory of a device that counts what it holds.
struct Buffer {
  Buffer(std::span<const std::byte> bytes, std::atomic<int>* alive)
      : content(bytes.begin(), bytes.end()), alive(*alive) {
    ++*alive;
  }
  ~Buffer() { --alive; }

  const std::vector<std::byte> content;
  std::atomic<int>& alive;
};

class SharedConstantsTest : public ::testing::Test {
 protected:
  std::shared_ptr<const Buffer> Get(absl::string_view content) {
    const auto make =
        [&](std::span<const std::byte> bytes) -> absl::StatusOr<std::shared_ptr<const Buffer>> {
      ++made_;
      return std::make_shared<const Buffer>(bytes, &alive_);
    };
    const auto buffer = constants_.Get(std::as_bytes(std::span(content)), make);
    EXPECT_OK(buffer.status());
    return buffer.ok() ? *buffer : nullptr;
  }

  std::atomic<int> made_{0};
  std::atomic<int> alive_{0};
  SharedConstants<Buffer> constants_;
};

TEST_F(SharedConstantsTest, EqualContentIsThereOnce) {
  const auto a = Get("weights"), b = Get("weights"), c = Get("others");
  EXPECT_EQ(a, b);
  EXPECT_NE(a, c);
  EXPECT_EQ(made_, 2);
  EXPECT_EQ(a->content.size(), 7u);
}

TEST_F(SharedConstantsTest, IsFreedWhenItsLastUserGoesAndMadeAgain) {
  auto a = Get("weights"), b = Get("weights");
  a.reset();
  EXPECT_EQ(alive_, 1);
  b.reset();
  EXPECT_EQ(alive_, 0);
  EXPECT_NE(Get("weights"), nullptr);
  EXPECT_EQ(made_, 2);
}

TEST_F(SharedConstantsTest, WhatCannotBeMadeIsTriedAgain) {
  const absl::string_view content = "weights";
  const auto fail = [](std::span<const std::byte>) {
    return absl::StatusOr<std::shared_ptr<const Buffer>>(absl::ResourceExhaustedError("full"));
  };
  EXPECT_FALSE(constants_.Get(std::as_bytes(std::span(content)), fail).ok());
  EXPECT_NE(Get(content), nullptr);
}

TEST_F(SharedConstantsTest, ManyThreadsShareWhatComesAndGoes) {
  constexpr int kThreads = 4, kSteps = 2000, kContents = 100;
  std::vector<std::jthread> threads;
  for (int t = 0; t < kThreads; ++t) {
    threads.emplace_back([this, t] {
      std::shared_ptr<const Buffer> held[8];
      for (int i = 0; i < kSteps; ++i) {
        const std::string content = std::to_string((i * 7 + t) % kContents);
        held[i % 8] = Get(content);
        ASSERT_EQ(held[i % 8]->content.size(), content.size());
      }
    });
  }
  threads.clear();
  EXPECT_EQ(alive_, 0);
}

}  // namespace
}  // namespace quotient::kernels
