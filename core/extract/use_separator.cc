#include "core/extract/use_separator.h"

namespace quotient::extract {
namespace {

constexpr double kMinViolation = 1e-2;
constexpr double kMinValue = 1e-9;

}  // namespace

UseSeparator::UseSeparator(const Instance& instance, const Requirements& requirements)
    : instance_(instance), requirements_(requirements), use_(instance.num_classes(), 0) {}

std::vector<UseInequality> UseSeparator::Separate(std::span<const double> node_value,
                                                  std::span<const double> class_value) {
  std::vector<Worst> worst(instance_.num_classes(), {kMinViolation, {}});
  for (uint32_t i = 0; i < instance_.num_classes(); ++i) {
    if (class_value[i] < kMinViolation) continue;
    AddUses(Class(i), node_value);
    for (Class id : used_) {
      const double violation = use_[id.value()] - class_value[id.value()];
      if (violation > worst[id.value()].violation) worst[id.value()] = {violation, Class(i)};
      use_[id.value()] = 0;
    }
    used_.clear();
  }
  std::vector<UseInequality> found;
  for (uint32_t i = 0; i < instance_.num_classes(); ++i) {
    if (worst[i].user.valid()) found.push_back(MakeInequality(Class(i), worst[i].user));
  }
  return found;
}

void UseSeparator::AddUses(Class user, std::span<const double> node_value) {
  for (Node node : instance_.nodes[user.value()]) {
    const double value = node_value[node.value()];
    if (value < kMinValue) continue;
    Requirements::ForEach(requirements_.of(node), [&](Class id) {
      if (use_[id.value()] == 0) used_.push_back(id);
      use_[id.value()] += value;
    });
  }
}

UseInequality UseSeparator::MakeInequality(Class needed, Class user) const {
  UseInequality inequality = {needed, {}};
  for (Node node : instance_.nodes[user.value()]) {
    if (Requirements::Has(requirements_.of(node), needed)) inequality.users.push_back(node);
  }
  return inequality;
}

}  // namespace quotient::extract
