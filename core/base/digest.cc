#include "core/base/digest.h"

#include <openssl/evp.h>

#include <algorithm>

#include "absl/strings/escaping.h"

namespace quotient {

struct Digester::Context {
  EVP_MD_CTX* md = EVP_MD_CTX_new();
  ~Context() { EVP_MD_CTX_free(md); }
};

Digester::Digester() : context_(std::make_unique<Context>()) {
  EVP_DigestInit_ex(context_->md, EVP_sha256(), nullptr);
}
Digester::~Digester() = default;
Digester::Digester(Digester&&) noexcept = default;
Digester& Digester::operator=(Digester&&) noexcept = default;

void Digester::Update(absl::string_view bytes) {
  EVP_DigestUpdate(context_->md, bytes.data(), bytes.size());
}

void Digester::Update(std::span<const std::byte> bytes) {
  EVP_DigestUpdate(context_->md, bytes.data(), bytes.size());
}

Digest Digester::Finish() {
  std::array<uint8_t, Digest::kSize> bytes;
  EVP_DigestFinal_ex(context_->md, bytes.data(), nullptr);
  return Digest(bytes);
}

Digest Digest::Of(absl::string_view bytes) {
  Digester digester;
  digester.Update(bytes);
  return digester.Finish();
}

Digest Digest::Of(std::span<const std::byte> bytes) {
  Digester digester;
  digester.Update(bytes);
  return digester.Finish();
}

std::optional<Digest> Digest::FromHex(absl::string_view hex) {
  const auto is_digit = [](char c) { return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'f'); };
  if (hex.size() != 2 * kSize || !std::all_of(hex.begin(), hex.end(), is_digit)) {
    return std::nullopt;
  }
  const std::string raw = absl::HexStringToBytes(hex);
  std::array<uint8_t, kSize> bytes;
  std::copy(raw.begin(), raw.end(), bytes.begin());
  return Digest(bytes);
}

std::string Digest::Hex() const {
  return absl::BytesToHexString(
      absl::string_view(reinterpret_cast<const char*>(bytes_.data()), bytes_.size()));
}

}  // namespace quotient
