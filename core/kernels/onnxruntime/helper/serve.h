#pragma once

// The helper's side of the channel: answers requests until the other end is gone.

#include <cstdint>
#include <string>

#include "absl/status/status.h"
#include "core/kernels/onnxruntime/channel.h"
#include "core/kernels/onnxruntime/runtime.h"

namespace quotient::kernels::onnxruntime {

struct ServeOptions {
  int threads = 1;
  uint64_t most_request_bytes = 0;
  std::string folder;  // Where models are found, and what is made of them is put.
};

// Returns UNAVAILABLE when the other end is gone. Requests that make no sense are answered with an
// error; those that cannot be read end it with one.
absl::Status Serve(const Runtime& runtime, const ServeOptions& options, Channel& channel);

}  // namespace quotient::kernels::onnxruntime
