#pragma once

// A checkpoint slot in memory, for tests of what fills it.

#include <string>
#include <utility>
#include <vector>

#include "core/base/checkpoint_slot.h"
#include "core/base/stop.h"

namespace quotient::testing {

class MemoryCheckpoint : public CheckpointSlot {
 public:
  // Holds `left`. With a token: it is time for a checkpoint when that has been asked `questions`
  // times, and as soon as there is one the token, borrowed, is set.
  explicit MemoryCheckpoint(std::string left, int questions = 0, CancelToken* token = nullptr)
      : left_(std::move(left)), questions_(questions), token_(token) {}

  std::string Load() override { return left_; }
  bool Due() override { return token_ != nullptr && --questions_ == 0; }
  void Save(absl::string_view bytes) override {
    saved_.emplace_back(bytes);
    left_ = saved_.back();
    if (token_ != nullptr) token_->Cancel();
  }

  // All of them, the oldest first.
  const std::vector<std::string>& saved() const { return saved_; }

 private:
  std::string left_;
  int questions_;
  CancelToken* const token_;
  std::vector<std::string> saved_;
};

}  // namespace quotient::testing
