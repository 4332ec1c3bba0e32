#pragma once

#include <compare>
#include <cstdint>
#include <optional>
#include <string>

#include "absl/strings/string_view.h"
#include "core/base/digest.h"

namespace quotient {

// Identifies bytes by their content.
struct BlobId {
  Digest digest;
  int64_t size_bytes = 0;

  static BlobId Of(absl::string_view bytes);
  // "<sha256>/<size>"
  std::string Text() const;
  // Parses what Text writes. Returns nullopt for any other text.
  static std::optional<BlobId> FromText(absl::string_view text);

  friend auto operator<=>(const BlobId&, const BlobId&) = default;
};

}  // namespace quotient
