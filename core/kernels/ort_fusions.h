#pragma once

// What ONNX Runtime fuses on processors, and which operators it runs in its blocked layout (NCHWc).
// This was found out by looking at what release 1.31.1 makes of small graphs, and
// tests/core/kernels/onnxruntime/ort_fusions_test compares it with the library that is installed.

#include <cstdint>

#include "absl/strings/string_view.h"
#include "core/kernels/runtime_fusions.h"

namespace quotient::kernels {

// What brings values into ONNX Runtime's blocked layout takes channels by fours.
inline constexpr int64_t kChannelStep = 4;
// How many channels lie side by side in ONNX Runtime's blocked layout on the processor that this
// runs on.
int ChannelsInBlock();

// Those of ONNX Runtime on the processor that this runs on.
const RuntimeFusions& OrtFusionsHere();

// The fusions of that name; null if there are none.
const RuntimeFusions* FindRuntimeFusions(absl::string_view name);

}  // namespace quotient::kernels
