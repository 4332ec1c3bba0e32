#include "client/cpp/typed_file.h"

#include <fcntl.h>

#include "core/base/reason.h"

namespace quotient::client {

absl::StatusOr<std::unique_ptr<os::MappedFile>> MapTypedFile(const std::string& path) {
  absl::StatusOr<os::Fd> fd = os::OpenFile(path, O_RDONLY);
  if (!fd.ok()) return MakeError(Reason::kOptionInvalid, fd.status().message());
  absl::StatusOr<std::unique_ptr<os::MappedFile>> file = os::MappedFile::Map(*fd, path);
  if (!file.ok()) return MakeError(Reason::kOptionInvalid, file.status().message());
  return file;
}

}  // namespace quotient::client
