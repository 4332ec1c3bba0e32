#pragma once

// UseSeparator: finds rows of the linear program that are stronger than those for children. A class
// that e-nodes of one class require, directly or through others, is needed to the degree that these
// e-nodes are chosen together. Without such rows, a relaxation that chooses alternatives by halves
// needs what all of them require by one half only.

#include <span>
#include <vector>

#include "core/extract/ilp_model.h"
#include "core/extract/instance.h"
#include "core/extract/requirements.h"

namespace quotient::extract {

class UseSeparator {
 public:
  // Borrows both.
  UseSeparator(const Instance& instance, const Requirements& requirements);

  // For each class, the inequality that the solution violates most.
  std::vector<UseInequality> Separate(std::span<const double> node_value,
                                      std::span<const double> class_value);

 private:
  struct Worst {
    double violation = 0;
    Class user;
  };

  void AddUses(Class user, std::span<const double> node_value);
  UseInequality MakeInequality(Class needed, Class user) const;

  const Instance& instance_;
  const Requirements& requirements_;
  // Scratch, for one user: by Class, how much of it is chosen with e-nodes that require the class.
  std::vector<double> use_;
  std::vector<Class> used_;
};

}  // namespace quotient::extract
