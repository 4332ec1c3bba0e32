#pragma once

// SHA-256, the only hash that identifies content: blobs, models, results, cache keys.

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <utility>

#include "absl/strings/string_view.h"

namespace quotient {

class Digest {
 public:
  static constexpr size_t kSize = 32;

  Digest() = default;  // All zero.
  explicit Digest(const std::array<uint8_t, kSize>& bytes) : bytes_(bytes) {}

  static Digest Of(absl::string_view bytes);
  static Digest Of(std::span<const std::byte> bytes);

  // Parses 64 lower-case hexadecimal digits. Returns nullopt for any other text.
  static std::optional<Digest> FromHex(absl::string_view hex);
  std::string Hex() const;

  const std::array<uint8_t, kSize>& bytes() const { return bytes_; }

  friend bool operator==(const Digest&, const Digest&) = default;
  friend auto operator<=>(const Digest&, const Digest&) = default;
  template <typename H>
  friend H AbslHashValue(H h, const Digest& digest) {
    return H::combine(std::move(h), digest.bytes_);
  }

 private:
  std::array<uint8_t, kSize> bytes_{};
};

// Computes the digest of a stream. Not thread-safe.
class Digester {
 public:
  Digester();
  ~Digester();
  Digester(Digester&&) noexcept;
  Digester& operator=(Digester&&) noexcept;

  void Update(absl::string_view bytes);
  void Update(std::span<const std::byte> bytes);
  // The digest of all bytes so far. Nothing may be added afterwards.
  Digest Finish();

 private:
  struct Context;
  std::unique_ptr<Context> context_;
};

}  // namespace quotient
