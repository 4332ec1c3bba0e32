#pragma once

// The windows of convolutions and pools.

#include <optional>

#include "core/prove/operation.h"

namespace quotient::prove {

struct Window {
  int64_t group;
  Ints strides;
  Ints dilations;
  Ints pads;  // Those in front; the size of the output tells the others.
};

// Nullopt for `auto_pad`.
std::optional<Window> ReadWindow(const Operation& operation);

}  // namespace quotient::prove
