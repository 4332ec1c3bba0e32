#pragma once

// Binary serialization. A stored type lists its fields once, for reading and writing:
//
//   template <typename Self, typename Stream>
//   void VisitFields(Self& mean, Stream& stream) {
//     stream.Real(mean.sum, -kMost, kMost);
//     stream.Number(mean.count, kMostCount);
//   }
//
// The reader does not trust its input. Numbers and reals must be within the given bounds, and a
// list must not have more items than the remaining bytes can hold. After the first error it returns
// zeros and empty lists.

#include <bit>
#include <cstddef>
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/string_view.h"

namespace quotient::search {

class FieldWriter {
 public:
  // Numbers, ids, bools and enums, none of them negative, as varints: small ones take few bytes.
  template <typename T>
  void Number(const T& value, uint64_t /*most*/) {
    uint64_t rest = static_cast<uint64_t>(value);
    for (; rest >= 0x80; rest >>= 7) bytes_.push_back(static_cast<char>(rest | 0x80));
    bytes_.push_back(static_cast<char>(rest));
  }
  // Any 64 bits, as eight bytes, lowest first.
  void Word(const uint64_t& value) {
    for (int shift = 0; shift < 64; shift += 8) bytes_.push_back(static_cast<char>(value >> shift));
  }
  void Real(const double& value, double /*least*/, double /*most*/) {
    Word(std::bit_cast<uint64_t>(value));
  }
  template <typename T, typename VisitItem>
  void List(const std::vector<T>& list, size_t /*fewest_bytes*/, const VisitItem& visit) {
    Number(list.size(), 0);
    for (const T& item : list) visit(item);
  }
  template <typename T>
  void Part(const T& part) {
    part.Write(*this);
  }

  std::string Take() { return std::move(bytes_); }

 private:
  std::string bytes_;
};

// Borrows the bytes.
class FieldReader {
 public:
  explicit FieldReader(absl::string_view bytes) : rest_(bytes) {}

  template <typename T>
  void Number(T& value, uint64_t most) {
    const uint64_t number = Varint();
    if (number > most) ok_ = false;
    value = static_cast<T>(ok_ ? number : 0);
  }
  void Word(uint64_t& value) {
    value = 0;
    if (!Has(8)) return;
    for (int i = 7; i >= 0; --i) value = value << 8 | static_cast<uint8_t>(rest_[i]);
    rest_.remove_prefix(8);
  }
  // NaN is an error.
  void Real(double& value, double least, double most) {
    uint64_t bits = 0;
    Word(bits);
    value = std::bit_cast<double>(bits);
    if (value >= least && value <= most) return;
    ok_ = false;
    value = 0;
  }
  // A list whose items take at least `fewest_bytes` each, which must not be 0.
  template <typename T, typename VisitItem>
  void List(std::vector<T>& list, size_t fewest_bytes, const VisitItem& visit) {
    list.clear();
    size_t count = 0;
    Number(count, rest_.size() / fewest_bytes);
    list.resize(count);
    for (size_t i = 0; i < count && ok_; ++i) visit(list[i]);
    if (!ok_) list.clear();
  }
  template <typename T>
  void Part(T& part) {
    part.Read(*this);
  }

  // Reports an error that the caller found.
  void Fail() { ok_ = false; }
  bool ok() const { return ok_; }
  // Whether everything was read, and without errors.
  bool done() const { return ok_ && rest_.empty(); }

 private:
  bool Has(size_t bytes) {
    ok_ = ok_ && rest_.size() >= bytes;
    return ok_;
  }
  uint64_t Varint() {
    uint64_t value = 0;
    for (int shift = 0; shift < 64; shift += 7) {
      if (!Has(1)) return 0;
      const auto byte = static_cast<uint8_t>(rest_[0]);
      rest_.remove_prefix(1);
      value |= uint64_t{byte & 0x7fu} << shift;
      if (byte < 0x80) return value;
    }
    ok_ = false;
    return 0;
  }

  absl::string_view rest_;
  bool ok_ = true;
};

}  // namespace quotient::search
