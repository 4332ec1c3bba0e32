#pragma once

// A client of the real helper process with the library that is installed, one per test program.

#include <gtest/gtest.h>

#include <cstdint>
#include <memory>

#include "core/kernels/onnxruntime/helper_client.h"
#include "core/os/program_folder.h"
#include "tests/support/status_matchers.h"

namespace quotient::kernels::onnxruntime {

inline HelperClient& SharedClient() {
  static const auto& client = *new absl::StatusOr<std::unique_ptr<HelperClient>>(
      HelperClient::Create({.program = os::FindBesideProgram("quotient-ort", {""}),
                            .library = os::FindBesideProgram("libonnxruntime.so", {"../lib/"}),
                            .memory_bytes = int64_t{4} << 30}));
  EXPECT_THAT(client, quotient::testing::IsOk());
  return **client;
}

}  // namespace quotient::kernels::onnxruntime
