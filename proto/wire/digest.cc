#include "proto/wire/digest.h"

#include <optional>

#include "absl/strings/str_cat.h"
#include "core/base/log.h"
#include "core/base/reason.h"

namespace quotient::wire {

v1::Digest ToProto(const BlobId& id) {
  v1::Digest digest;
  digest.set_sha256(id.digest.Hex());
  digest.set_size_bytes(id.size_bytes);
  return digest;
}

absl::StatusOr<BlobId> FromProto(const v1::Digest& digest) {
  const std::optional<Digest> parsed = Digest::FromHex(digest.sha256());
  if (!parsed.has_value()) {
    return MakeError(Reason::kBadDigest,
                     absl::StrCat("not a SHA-256: '", Escaped(digest.sha256()), "'"));
  }
  if (digest.size_bytes() < 0) return MakeError(Reason::kBadDigest, "negative size of a blob");
  return BlobId{*parsed, digest.size_bytes()};
}

}  // namespace quotient::wire
