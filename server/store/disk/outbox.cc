#include "server/store/disk/outbox.h"

#include <fcntl.h>

#include "absl/strings/str_cat.h"
#include "core/base/status_macros.h"
#include "core/os/fault_point.h"
#include "core/os/files.h"

namespace quotient::store {

absl::StatusOr<BlobId> Outbox::Put(absl::string_view bytes) {
  const BlobId id = BlobId::Of(bytes);
  if (IsVerified(id.digest)) return id;
  QUOTIENT_RETURN_IF_ERROR(CheckRoom(id.size_bytes));
  const std::string file = absl::StrCat(folder_, "/", id.digest.Hex());
  QUOTIENT_ASSIGN_OR_RETURN(const os::Fd fd, os::OpenFile(file, O_WRONLY | O_CREAT | O_TRUNC));
  QUOTIENT_RETURN_IF_ERROR(os::WriteFully(fd, bytes, file));
  os::FaultPoint("job.blob_written");
  return id;
}

}  // namespace quotient::store
