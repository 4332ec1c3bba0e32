#pragma once

// Digests of blobs as messages. A BlobId is what the rest of the code uses.

#include <compare>
#include <cstdint>
#include <string>

#include "absl/status/statusor.h"
#include "core/base/digest.h"
#include "quotient/v1/common.pb.h"

namespace quotient {

// Names a blob by its content.
struct BlobId {
  Digest digest;
  int64_t size_bytes = 0;

  static BlobId Of(absl::string_view bytes);
  // "<sha256>/<size>"
  std::string Text() const;

  friend auto operator<=>(const BlobId&, const BlobId&) = default;
};

namespace wire {

v1::Digest ToProto(const BlobId& id);

// BAD_DIGEST if the text is not a SHA-256 or the size is negative.
absl::StatusOr<BlobId> FromProto(const v1::Digest& digest);

}  // namespace wire
}  // namespace quotient
