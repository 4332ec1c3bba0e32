#pragma once

// Where long-running work saves checkpoints, so that it can continue after an interruption.
// Implemented by the caller of that work, like ProgressSink.

#include <string>

#include "absl/strings/string_view.h"

namespace quotient {

// For one thread at a time.
class CheckpointSlot {
 public:
  virtual ~CheckpointSlot() = default;
  // The last checkpoint, which may be damaged; empty if there is none.
  virtual std::string Load() = 0;
  // Whether it is time for another checkpoint. Called often, so it must be fast.
  virtual bool Due() = 0;
  // Replaces the checkpoint. Blocks until the bytes are durable. If that fails, the previous
  // checkpoint stays.
  virtual void Save(absl::string_view bytes) = 0;
};

}  // namespace quotient
