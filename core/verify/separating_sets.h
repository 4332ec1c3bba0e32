#pragma once

// Chooses which dimensions of one name to make 1, so that every dimension differs from every other
// one of its name in some choice.

#include <cstddef>
#include <functional>
#include <vector>

namespace quotient::verify {

// Dimensions that are made 1 together, by index, in ascending order.
using OnesSet = std::vector<size_t>;

struct SeparatingSets {
  std::vector<OnesSet> sets;  // Each was accepted, and none is empty.
  bool tried_all = true;      // False if there were too many dimensions to try all of them.
};

// `groups[i]` is the group (the name) of dimension i; groups of one member are left alone.
// `accepts` says whether the operators accept that exactly these dimensions are 1.
//
// A dimension that may be 1 alone is a unit. Of the others, neighbors that may be 1 together are a
// unit, because operators may insist on their being equal. For every unit and every other dimension
// of its group there is a set that has the unit and not the dimension. The sets for n units are as
// few as an antichain of n subsets needs (Sperner's theorem: the subsets of half of k elements), or
// a few more where the operators do not accept units of one set together. With two dimensions that
// may both be 1, these are {second} and {first}, in this order.
//
// Calls `accepts` a bounded number of times: at most twice for each of at most 64 dimensions, and
// 128 times more.
SeparatingSets FindSeparatingSets(const std::vector<size_t>& groups,
                                  const std::function<bool(const OnesSet&)>& accepts);

}  // namespace quotient::verify
