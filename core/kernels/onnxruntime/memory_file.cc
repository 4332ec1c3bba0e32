#include "core/kernels/onnxruntime/memory_file.h"

#include <sys/mman.h>
#include <unistd.h>

#include "absl/strings/str_cat.h"

namespace quotient::kernels::onnxruntime {
namespace {

constexpr char kName[] = "a file in memory";  // For messages.

}  // namespace

absl::StatusOr<MemoryFile> MemoryFile::Create() {
  os::Fd fd(memfd_create("dump", MFD_CLOEXEC));
  if (!fd.valid()) return os::ErrnoError("make", kName);
  return MemoryFile(std::move(fd));
}

std::string MemoryFile::path() const { return absl::StrCat("/proc/self/fd/", fd_.get()); }

absl::Status MemoryFile::Append(absl::string_view bytes) {
  if (lseek(fd_.get(), 0, SEEK_END) < 0) return os::ErrnoError("find the end of", kName);
  return os::WriteFully(fd_, bytes, kName);
}

absl::StatusOr<std::unique_ptr<os::MappedFile>> MemoryFile::Map() const {
  return os::MappedFile::Map(fd_, kName);
}

}  // namespace quotient::kernels::onnxruntime
