#include "core/extract/users.h"

#include <cstdint>

namespace quotient::extract {

Users FindUsers(const Instance& instance) {
  Users users;
  users.Reserve(instance.num_classes(), instance.parents.values().size());
  for (uint32_t i = 0; i < instance.num_classes(); ++i) {
    User user = {};
    for (const Node parent : instance.parents[i]) {
      const Class id = instance.class_of[parent.value()];
      if (id == user.id) {  // The parents of one class are adjacent.
        if (instance.cost[parent.value()] < user.cost) {
          user.cheapest = parent;
          user.cost = instance.cost[parent.value()];
        }
        continue;
      }
      if (user.id.valid()) users.Push(user);
      user = {id, parent, instance.cost[parent.value()]};
    }
    if (user.id.valid()) users.Push(user);
    users.EndKey();
  }
  return users;
}

}  // namespace quotient::extract
