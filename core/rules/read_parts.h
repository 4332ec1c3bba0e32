#pragma once

// Says where it may pay to compute only a part of a value: a model that predicts the next word
// reads one row of what its last layer computes, and a classifier that has a class token another
// one.

#include "core/rules/terms.h"

namespace quotient::rules {

// Whether the e-node is a Slice or a Gather of `cls`, and not only of something by it as an index.
bool IsPickOf(const View& view, ENodeId enode, ClassId cls);

// Whether at most half of the value is read in the end: everything that reads it is a Slice or a
// Gather of it, and these take no more than half of it together, or is read in parts itself. Sizes
// are the measured ones, since this decides nothing but whether a rewrite may pay. False if that
// takes long to find out. The answer only falls while a graph grows, because no reader goes away.
bool IsReadInParts(const View& view, ClassId cls);

}  // namespace quotient::rules
