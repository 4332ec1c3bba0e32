#pragma once

// SupportCosts: for each class a lower bound on the cost of making it, which planning calls h-max.
// A class costs its cheapest e-node, where an e-node costs its own cost plus that of its dearest
// child. The values can be updated when costs of e-nodes fall.

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
  // The cost of the dearest child; 0 if there is none.
  double below(Node node) const {
    const Class id = support(node);
    return id.valid() ? of(id) : 0;
  }

  // To be called after the costs of these e-nodes have fallen.
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
  std::vector<Label> heap_;  // A heap with the least value first.
};

}  // namespace quotient::extract
