#include "core/base/blob_id.h"

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"

namespace quotient {

BlobId BlobId::Of(absl::string_view bytes) {
  return {Digest::Of(bytes), static_cast<int64_t>(bytes.size())};
}

std::string BlobId::Text() const { return absl::StrCat(digest.Hex(), "/", size_bytes); }

std::optional<BlobId> BlobId::FromText(absl::string_view text) {
  const size_t slash = text.find('/');
  if (slash == absl::string_view::npos) return std::nullopt;
  const std::optional<Digest> digest = Digest::FromHex(text.substr(0, slash));
  int64_t size_bytes;
  if (!digest.has_value() || !absl::SimpleAtoi(text.substr(slash + 1), &size_bytes)) {
    return std::nullopt;
  }
  const BlobId id{*digest, size_bytes};
  // Each id has only one text: no signs, leading zeros or spaces.
  if (size_bytes < 0 || id.Text() != text) return std::nullopt;
  return id;
}

}  // namespace quotient
