#include "core/kernels/onednn/constant_pool.h"

#include <utility>

namespace quotient::kernels::onednn {

std::optional<PackedConstants> ConstantPool::Lock(const Weak& weak) {
  PackedConstants constants;
  for (const std::weak_ptr<const std::byte>& constant : weak) {
    constants.push_back(constant.lock());
    if (constants.back() == nullptr) return std::nullopt;
  }
  return constants;
}

std::optional<PackedConstants> ConstantPool::Find(const Digest& recipe) {
  const absl::MutexLock lock(&mutex_);
  const auto found = by_recipe_.find(recipe);
  if (found == by_recipe_.end()) return std::nullopt;
  return Lock(found->second);
}

void ConstantPool::Keep(const Digest& recipe, const PackedConstants& constants) {
  const absl::MutexLock lock(&mutex_);
  if (by_recipe_.size() >= forget_at_) {
    absl::erase_if(by_recipe_, [](const auto& entry) { return !Lock(entry.second).has_value(); });
    forget_at_ = std::max(forget_at_, 2 * by_recipe_.size());
  }
  by_recipe_[recipe] = Weak(constants.begin(), constants.end());
}

}  // namespace quotient::kernels::onednn
