#pragma once

// Which classes can use a class, for searches that look at them again and again.

#include "core/egraph/grouped_list.h"
#include "core/extract/instance.h"

namespace quotient::extract {

// A class that has e-nodes with a certain child.
struct User {
  Class id;
  Node cheapest;  // Of these e-nodes; the first of several.
  double cost;    // Of that e-node.
};

// By Class, its possible users, each once, in the order of Instance::parents.
using Users = egraph::GroupedList<User>;
Users FindUsers(const Instance& instance);

}  // namespace quotient::extract
