#include "server/jobs/blob_store.h"

#include "absl/strings/str_cat.h"
#include "core/base/reason.h"
#include "core/base/status_macros.h"

namespace quotient::jobs {

absl::StatusOr<std::shared_ptr<const Blob>> OpenVerified(BlobStore& blobs, const BlobId& id) {
  QUOTIENT_ASSIGN_OR_RETURN(std::shared_ptr<const Blob> blob, blobs.Open(id));
  if (BlobId::Of(blob->bytes()) != id) {
    return MakeError(Reason::kBlobCorrupt, absl::StrCat("blob ", id.Text(), " is damaged on disk"));
  }
  blob->Release();
  return blob;
}

}  // namespace quotient::jobs
