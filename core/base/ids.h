#pragma once

// Ids are indices into vectors. Each kind of id is a type of its own, so that a class cannot be
// passed where a node is meant. All take four bytes, and order and hash like their number.
//
//   using NodeId = StrongId<struct NodeIdTag>;

#include <compare>
#include <cstdint>
#include <functional>
#include <utility>

namespace quotient {

template <typename Tag>
class StrongId {
 public:
  constexpr StrongId() = default;  // The invalid id.
  constexpr explicit StrongId(uint32_t value) : value_(value) {}

  constexpr uint32_t value() const { return value_; }
  constexpr bool valid() const { return value_ != kInvalid; }

  friend constexpr auto operator<=>(StrongId, StrongId) = default;
  template <typename H>
  friend H AbslHashValue(H h, StrongId id) {
    return H::combine(std::move(h), id.value_);
  }

 private:
  static constexpr uint32_t kInvalid = 0xffffffffu;
  uint32_t value_ = kInvalid;
};

}  // namespace quotient

template <typename Tag>
struct std::hash<quotient::StrongId<Tag>> {
  size_t operator()(quotient::StrongId<Tag> id) const noexcept { return id.value(); }
};
