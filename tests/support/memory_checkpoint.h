#pragma once

// A checkpoint slot in memory, for tests of code that saves checkpoints.

#include <string>
#include <utility>
#include <vector>

#include "core/base/checkpoint_slot.h"
#include "core/base/stop.h"

namespace quotient::testing {

class MemoryCheckpoint : public CheckpointSlot {
 public:
  // The slot contains `left` at first. With a token, which is borrowed, a checkpoint is due at the
  // `questions`-th call of Due, and Save cancels the token. Without one, none is ever due.
  explicit MemoryCheckpoint(std::string left, int questions = 0, CancelToken* token = nullptr)
      : left_(std::move(left)), questions_(questions), token_(token) {}

  std::string Load() override { return left_; }
  bool Due() override { return token_ != nullptr && --questions_ == 0; }
  void Save(absl::string_view bytes) override {
    saved_.emplace_back(bytes);
    left_ = saved_.back();
    if (token_ != nullptr) token_->Cancel();
  }

  // All saved checkpoints, the oldest first.
  const std::vector<std::string>& saved() const { return saved_; }

 private:
  std::string left_;
  int questions_;
  CancelToken* const token_;
  std::vector<std::string> saved_;
};

}  // namespace quotient::testing
