#include "core/kernels/cuda/load_plugin.h"

#include <dlfcn.h>

#include <algorithm>
#include <initializer_list>
#include <string>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "core/base/reason.h"
#include "core/base/status_macros.h"
#include "core/kernels/cuda/interface/plugin.h"
#include "core/os/program_folder.h"

namespace quotient::kernels::cuda {

namespace {

constexpr char kFileName[] = "libquotient_cuda.so";

absl::Status NotPresent(absl::string_view message) {
  return MakeError(Reason::kDeviceNotPresent, message);
}

absl::StatusOr<std::string> FindPlugin() {
  const std::string path = os::FindBesideProgram(kFileName, {"", "../lib/"});
  if (!path.empty()) return path;
  const std::string folder = os::ProgramFolder();
  return NotPresent(absl::StrCat(
      "this installation has no CUDA plug-in: neither ", folder, kFileName, " nor ", folder,
      "../lib/", kFileName, " is there (", kPluginVariable,
      " names another place). It is built where CUDA 13, cuDNN 9 and cudnn-frontend are found."));
}

bool Says(absl::string_view reason, std::initializer_list<absl::string_view> words) {
  return std::any_of(words.begin(), words.end(),
                     [&](absl::string_view word) { return absl::StrContains(reason, word); });
}

// dlerror() names the missing file or symbol. The two need different remedies: a library must be
// found, or another version of it installed.
absl::Status DoesNotLoad(const std::string& path) {
  const char* error = dlerror();
  const std::string reason = error != nullptr ? error : path;
  if (Says(reason, {"undefined symbol", "symbol lookup error", "' not found"})) {
    return NotPresent(
        absl::StrCat(kSymbolMissing, reason,
                     ". The plug-in was built for CUDA 13 and cuDNN 9, and a library of "
                     "theirs that the dynamic linker finds here is older: update it."));
  }
  if (Says(reason, {"cannot open shared object file"})) {
    return NotPresent(absl::StrCat(
        kLibraryMissing, reason,
        ". It needs cuDNN 9 and, of CUDA 13, cuBLASLt and NVRTC where the "
        "dynamic linker finds them: install them, or name their folder in LD_LIBRARY_PATH."));
  }
  return NotPresent(absl::StrCat("the CUDA plug-in does not load: ", reason, "."));
}

// The address of an exported function; null if the library does not export it.
template <typename Function>
Function* Find(void* library, const char* symbol) {
  return reinterpret_cast<Function*>(dlsym(library, symbol));
}

absl::Status CheckBuildId(void* library, const std::string& path) {
  auto* build_id = Find<const char*()>(library, kBuildIdSymbol);
  if (build_id == nullptr) {
    return NotPresent(absl::StrCat(path, " is not a CUDA plug-in: it has no ", kBuildIdSymbol));
  }
  if (const std::string ours = PluginBuildId(); ours != build_id()) {
    return NotPresent(absl::StrCat("the CUDA plug-in ", path,
                                   " belongs to another build: it is of ", build_id(),
                                   ", this program of ", ours));
  }
  return absl::OkStatus();
}

absl::StatusOr<Plugin*> NewPlugin(void* library, const std::string& path) {
  QUOTIENT_RETURN_IF_ERROR(CheckBuildId(library, path));
  auto* new_plugin = Find<Plugin*()>(library, kNewPluginSymbol);
  if (new_plugin == nullptr) {
    return NotPresent(absl::StrCat(path, " is not a CUDA plug-in: it has no ", kNewPluginSymbol));
  }
  return new_plugin();
}

absl::StatusOr<Plugin*> FindAndLoad(const std::string& named) {
  if (!named.empty()) {
    absl::StatusOr<Plugin*> plugin = LoadPluginFrom(named);
    if (plugin.ok()) return plugin;
    return NotPresent(absl::StrCat(plugin.status().message(), " ", kPluginVariable,
                                   " says that it is ", named, "."));
  }
  QUOTIENT_ASSIGN_OR_RETURN(const std::string path, FindPlugin());
  return LoadPluginFrom(path);
}

}  // namespace

absl::StatusOr<Plugin*> LoadPluginFrom(const std::string& path) {
  // dlopen searches for a path without '/'.
  const std::string file = path.find('/') == std::string::npos ? absl::StrCat("./", path) : path;
  void* library = dlopen(file.c_str(), RTLD_NOW | RTLD_LOCAL);
  if (library == nullptr) return DoesNotLoad(file);
  absl::StatusOr<Plugin*> plugin = NewPlugin(library, file);
  if (!plugin.ok()) dlclose(library);
  return plugin;
}

absl::StatusOr<Plugin*> LoadPlugin(const std::string& named) {
  // Never destroyed, because threads may still use it while the program ends.
  static const auto& plugin = *new absl::StatusOr<Plugin*>(FindAndLoad(named));
  return plugin;
}

}  // namespace quotient::kernels::cuda
