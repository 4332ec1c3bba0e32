#include "core/kernels/onnxruntime/library.h"

#include <dlfcn.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <memory>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "core/base/digest.h"
#include "core/base/status_macros.h"
#include "core/os/files.h"

namespace quotient::kernels::onnxruntime {
namespace {

constexpr absl::string_view kWanted =
    "what is wanted is libonnxruntime.so of a release archive of ONNX Runtime, or the file "
    "onnxruntime/capi/libonnxruntime.so.* of a wheel, which wheels have since 1.20";

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
      absl::StrCat(path, " cannot be loaded as ONNX Runtime's library: ", reason, "; ", kWanted));
}

// Loading a FIFO would wait for somebody to write to it.
absl::Status CheckIsFile(const std::string& path) {
  struct stat file;
  if (stat(path.c_str(), &file) != 0 || S_ISREG(file.st_mode)) return absl::OkStatus();
  return absl::InvalidArgumentError(
      absl::StrCat(path, S_ISDIR(file.st_mode) ? " is a folder" : " is no regular file",
                   ", not ONNX Runtime's library; ", kWanted));
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

// The build of the library that has a symbol. The file is found by the symbol, since a library may
// have been loaded by a name.
absl::StatusOr<std::string> BuildOf(const void* symbol) {
  constexpr size_t kDigits = 16;
  Dl_info info;
  if (dladdr(symbol, &info) == 0) {
    return absl::InvalidArgumentError("the file of ONNX Runtime's library is not known");
  }
  const absl::StatusOr<std::string> digits = [&]() -> absl::StatusOr<std::string> {
    QUOTIENT_ASSIGN_OR_RETURN(const os::Fd fd, os::OpenFile(info.dli_fname, O_RDONLY));
    QUOTIENT_ASSIGN_OR_RETURN(const std::unique_ptr<os::MappedFile> file,
                              os::MappedFile::Map(fd, info.dli_fname));
    return Digest::Of(file->bytes()).Hex().substr(0, kDigits);
  }();
  if (digits.ok()) return digits;
  return absl::InvalidArgumentError(
      absl::StrCat("ONNX Runtime's library cannot be identified: ", digits.status().message()));
}

absl::StatusOr<std::vector<std::string>> ProvidersOf(const OrtApi& api) {
  char** names = nullptr;
  int count = 0;
  OrtStatus* const status = api.GetAvailableProviders(&names, &count);
  if (status != nullptr) {
    const std::string message = api.GetErrorMessage(status);
    api.ReleaseStatus(status);
    return absl::InvalidArgumentError(absl::StrCat("ONNX Runtime has no providers: ", message));
  }
  std::vector<std::string> providers(names, names + count);
  if (OrtStatus* const left = api.ReleaseAvailableProviders(names, count)) api.ReleaseStatus(left);
  return providers;
}

}  // namespace

absl::StatusOr<Library> LoadLibrary(const std::string& path) {
  if (absl::StrContains(path, '/')) QUOTIENT_RETURN_IF_ERROR(CheckIsFile(path));
  void* const library = dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL);
  if (library == nullptr) return DoesNotLoad(path);
  const void* const symbol = dlsym(library, kOrtGetApiBase);
  const auto get_base =
      reinterpret_cast<const OrtApiBase* (*)()>(reinterpret_cast<uintptr_t>(symbol));
  const OrtApiBase* const base = get_base == nullptr ? nullptr : get_base();
  if (base == nullptr) {
    return absl::InvalidArgumentError(absl::StrCat(
        path, " is not ONNX Runtime's library: it has no ", kOrtGetApiBase, "; ", kWanted));
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
  Library loaded{.version = version, .build = {}, .providers = {}, .api = OrtApi(table)};
  QUOTIENT_ASSIGN_OR_RETURN(loaded.build, BuildOf(symbol));
  QUOTIENT_ASSIGN_OR_RETURN(loaded.providers, ProvidersOf(loaded.api));
  return loaded;
}

}  // namespace quotient::kernels::onnxruntime
