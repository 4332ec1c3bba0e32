#pragma once

// Nothing may throw across the plug-in's border, but cudnn_frontend and the standard library throw.

#include <exception>
#include <utility>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"

namespace quotient::kernels::cuda {

// Calls `work`, which returns a Status or StatusOr. Returns INTERNAL if it throws.
template <typename Work>
auto NoThrow(Work&& work) -> decltype(work()) {
  try {
    return std::forward<Work>(work)();
  } catch (const std::exception& e) {
    return absl::InternalError(absl::StrCat("CUDA plug-in: ", e.what()));
  }
}

}  // namespace quotient::kernels::cuda
