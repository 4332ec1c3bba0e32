#pragma once

// Where work that takes long leaves what it can go on from, should it be interrupted. Runs against
// the data flow, as Progress does.

#include <string>

#include "absl/strings/string_view.h"

namespace quotient {

// One thread at a time.
class CheckpointSlot {
 public:
  virtual ~CheckpointSlot() = default;
  // What was left last, perhaps damaged; empty if there is nothing.
  virtual std::string Load() = 0;
  // Whether it is time for the next one. Asked often, so it must be quick.
  virtual bool Due() = 0;
  // Replaces what was left. Blocks until the bytes are durable; if they cannot be made so, what was
  // left before stays.
  virtual void Save(absl::string_view bytes) = 0;
};

}  // namespace quotient
