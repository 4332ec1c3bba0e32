#pragma once

// For each class the least cost of the dearest path below it, where an e-node waits for the dearest
// of its children: what planning calls h-max. No selection makes the class for less. Kept while
// costs of e-nodes fall.

#include <span>
#include <vector>

#include "core/extract/instance.h"

namespace quotient::extract {

class SupportCosts {
 public:
  // Borrows both; infinite costs are allowed.
  SupportCosts(const Instance& instance, std::span<const double> cost);

  double of(Class id) const { return value_[id.value()]; }
  // The dearest child of the e-node; invalid if it has none.
  Class support(Node node) const { return support_[node.value()]; }
  // What it takes before the e-node itself.
  double below(Node node) const {
    const Class id = support(node);
    return id.valid() ? of(id) : 0;
  }

  // The costs of these have fallen.
  void Lower(std::span<const Node> nodes);

 private:
  struct Label {
    double value;
    Class id;
    friend bool operator>(const Label& a, const Label& b) { return a.value > b.value; }
  };

  Class Dearest(Node node) const;
  void Offer(Node node);
  void Settle();

  const Instance& instance_;
  const std::span<const double> cost_;
  std::vector<double> value_;
  std::vector<Class> support_;
  std::vector<Label> heap_;  // least value first
};

}  // namespace quotient::extract
