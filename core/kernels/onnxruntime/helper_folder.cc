#include "core/kernels/onnxruntime/helper_folder.h"

#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <system_error>
#include <utility>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"

namespace quotient::kernels::onnxruntime {

absl::StatusOr<std::unique_ptr<HelperFolder>> HelperFolder::Create(
    const os::Environment& environment) {
  const std::string parent = os::ValueOf(environment, "TMPDIR");
  std::string path = absl::StrCat(parent.empty() ? "/tmp" : parent, "/quotient-ort-XXXXXX");
  if (mkdtemp(path.data()) != nullptr) {
    return std::unique_ptr<HelperFolder>(new HelperFolder(std::move(path)));
  }
  return absl::FailedPreconditionError(
      absl::StrCat("ONNX Runtime's process has no folder to work in, which is made in $TMPDIR or "
                   "/tmp: ",
                   strerror(errno)));
}

HelperFolder::~HelperFolder() {
  std::error_code ignored;
  std::filesystem::remove_all(path_, ignored);
}

}  // namespace quotient::kernels::onnxruntime
