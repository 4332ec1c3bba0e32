#include "core/kernels/onnxruntime/library.h"

#include <dlfcn.h>
#include <unistd.h>

#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"

namespace quotient::kernels::onnxruntime {
namespace {

// A path is a file, a name is searched by the dynamic linker.
bool IsMissing(const std::string& path, absl::string_view reason) {
  if (absl::StrContains(path, '/')) return access(path.c_str(), F_OK) != 0;
  return absl::StrContains(reason, "No such file");
}

absl::Status DoesNotLoad(const std::string& path) {
  const char* const error = dlerror();
  const std::string reason = error != nullptr ? error : "no reason is known";
  if (IsMissing(path, reason)) {
    return absl::NotFoundError(absl::StrCat("there is no ONNX Runtime at ", path));
  }
  return absl::InvalidArgumentError(
      absl::StrCat(path, " cannot be loaded as ONNX Runtime's library: ", reason));
}

// Release 1.N offers the versions 1 to N of the table.
bool IsNewEnough(absl::string_view version) {
  const std::vector<absl::string_view> parts = absl::StrSplit(version, '.');
  uint32_t major = 0;
  uint32_t minor = 0;
  if (parts.size() < 2 || !absl::SimpleAtoi(parts[0], &major) ||
      !absl::SimpleAtoi(parts[1], &minor)) {
    return false;
  }
  return major > 1 || (major == 1 && minor >= kOrtApiVersion);
}

}  // namespace

absl::StatusOr<Library> LoadLibrary(const std::string& path) {
  void* const library = dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL);
  if (library == nullptr) return DoesNotLoad(path);
  const auto get_base = reinterpret_cast<const OrtApiBase* (*)()>(dlsym(library, kOrtGetApiBase));
  const OrtApiBase* const base = get_base == nullptr ? nullptr : get_base();
  if (base == nullptr) {
    return absl::InvalidArgumentError(
        absl::StrCat(path, " is not ONNX Runtime's library: it has no ", kOrtGetApiBase));
  }
  const std::string version = base->GetVersionString();
  if (!IsNewEnough(version)) {
    return absl::FailedPreconditionError(absl::StrCat(
        "ONNX Runtime ", version, " at ", path, " is too old: 1.", kOrtApiVersion, " is needed"));
  }
  const void* const* const table = base->GetApi(kOrtApiVersion);
  if (table == nullptr) {
    return absl::InvalidArgumentError(absl::StrCat(
        "ONNX Runtime ", version, " at ", path, " is of another build: it does not offer version ",
        kOrtApiVersion, " of its API"));
  }
  return Library{version, OrtApi(table)};
}

}  // namespace quotient::kernels::onnxruntime
