#pragma once

// The plug-in's border: nothing may throw across it, and cudnn_frontend and std do throw.

#include <exception>
#include <utility>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"

namespace quotient::kernels::cuda {

// What `work` returns, a Status or a StatusOr; INTERNAL for what it throws.
template <typename Work>
auto NoThrow(Work&& work) -> decltype(work()) {
  try {
    return std::forward<Work>(work)();
  } catch (const std::exception& e) {
    return absl::InternalError(absl::StrCat("CUDA plug-in: ", e.what()));
  }
}

}  // namespace quotient::kernels::cuda
