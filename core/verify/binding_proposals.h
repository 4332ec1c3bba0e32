#pragma once

// Other sizes for a model than those it is measured with. What is right for one size alone (a batch
// of one, an even length, two dimensions that happen to be equal) shows at others.

#include <vector>

#include "absl/strings/string_view.h"
#include "core/base/stop.h"
#include "core/model/graph.h"
#include "core/verify/bindings.h"

namespace quotient::verify {

// In what way the sizes of a binding differ from those of measuring.
enum class BindingKind {
  // Dimensions that are no numbers have different sizes wherever the graph's own operators allow
  // it, even where they have one name; the two kinds use different numbers.
  kFirst,
  kSecond,
  // One name promises one size, but a caller can break that where operators broadcast or look at
  // the number of elements alone, and runtimes do not object. All but the first dimension of a name
  // are 1 where the operators allow it.
  kOthersAreOne,
  // The first dimension of each name is 1 and the others are not.
  kFirstIsOne,
  // Two dimensions of one input have changed places: the number of elements stays.
  kSwapped,
  // All batches are empty.
  kEmptyBatch,
};

// "some sizes of one name are 1", "the batch is empty"; nothing for the first two kinds.
absl::string_view ToString(BindingKind kind);

// Other sizes for a graph than `measured` (which holds dims for every input that was bound), small
// ones first. Where dimensions cannot all differ, those of one name are equal; then those of one
// number in `measured`; if the operators take no other sizes, only first dimensions differ from
// `measured`. Each passes InferAt and leaves no more nodes without types than `measured` does;
// whether the graph can be evaluated there remains to be seen. Empty: the graph has no such
// dimension (FreeDims), or nothing was found, or `stop` says so. At most some dozens of
// inferences, n log n in the dimensions each.
std::vector<Shapes> ProposeBindings(const model::Graph& graph, const Shapes& measured,
                                    BindingKind kind, const StopCondition& stop);

}  // namespace quotient::verify
