#include "core/kernels/cuda/plugin/cudnn_status.h"

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"

namespace quotient::kernels::cuda {

absl::Status CudnnStatus(cudnnStatus_t status, absl::string_view what) {
  if (status == CUDNN_STATUS_SUCCESS) return absl::OkStatus();
  const std::string message = absl::StrCat("cuDNN: ", what, ": ", cudnnGetErrorString(status));
  if (status == CUDNN_STATUS_INTERNAL_ERROR_HOST_ALLOCATION_FAILED ||
      status == CUDNN_STATUS_INTERNAL_ERROR_DEVICE_ALLOCATION_FAILED) {
    return absl::ResourceExhaustedError(message);
  }
  const auto category = CUDNN_STATUS_CATEGORY(status);
  return category == CUDNN_STATUS_NOT_SUPPORTED || category == CUDNN_STATUS_BAD_PARAM
             ? absl::UnimplementedError(message)
             : absl::InternalError(message);
}

absl::Status StatusOfText(const std::string& message) {
  bool is_trouble = false;
  for (absl::string_view line : absl::StrSplit(message, '\n')) {
    // After "Reason:" cuDNN's log has the source text of the condition that failed.
    line = line.substr(0, line.find("Reason:"));
    for (absl::string_view rest : absl::StrSplit(line, "CUDNN_STATUS_")) {
      if (rest.data() == line.data()) continue;  // Text before the first status.
      size_t size = 0;
      while (size < rest.size() && (absl::ascii_isupper(rest[size]) || rest[size] == '_')) ++size;
      const absl::string_view name = rest.substr(0, size);
      if (absl::EndsWith(name, "_ALLOCATION_FAILED")) return absl::ResourceExhaustedError(message);
      is_trouble = is_trouble || !(absl::StartsWith(name, "NOT_SUPPORTED") ||
                                   absl::StartsWith(name, "BAD_PARAM") || name == "SUCCESS");
    }
  }
  return is_trouble ? absl::InternalError(message) : absl::UnimplementedError(message);
}

}  // namespace quotient::kernels::cuda
