#pragma once

// Proposes sizes for a model other than those it is measured with. They reveal rewrites that are
// right only for particular sizes: a batch of one, an even length, dimensions that happen to be
// equal.

#include <cstdint>
#include <vector>

#include "absl/strings/string_view.h"
#include "core/base/stop.h"
#include "core/model/graph.h"
#include "core/verify/bindings.h"

namespace quotient::verify {

// How the sizes of a binding differ from those used for measuring.
enum class BindingKind {
  // All dimensions that are not numbers have different sizes wherever the graph's operators allow
  // it, even if they have the same name. The two kinds use different numbers.
  kFirst,
  kSecond,
  // Dimensions with the same name should have the same size. But a caller can break that, without
  // an error from runtimes, where operators broadcast or depend only on the number of elements. In
  // this kind, some dimensions of a name are 1 and others are not (ProposeBrokenNames).
  kSomeAreOne,
  // Two dimensions of one input are exchanged, so that its number of elements stays the same.
  kSwapped,
  // All batches are empty.
  kEmptyBatch,
  // All lengths, or all batches, are larger than a number that occurs in the model, or as large:
  // the rows of a table of positions, a size that is compared with.
  kLong,
  kLargeBatch,
};

// Whether dimensions of one name have different sizes on purpose.
bool BreaksNames(BindingKind kind);

// Whether it is kLong or kLargeBatch.
bool IsLarge(BindingKind kind);

// "some sizes of one name are 1", "the batch is empty, only types are compared"; nothing for the
// first two kinds.
absl::string_view ToString(BindingKind kind);

// Proposes sizes other than `measured`, which has dims for every input that was bound. Small
// lengths and sides come first, and for kFirst a batch of four before one of two. If dimensions
// cannot all differ, those with the same name are equal; if that does not suffice, also those with
// the same number in `measured`. If the operators accept no other sizes, only first dimensions
// differ from `measured`, or all sizes are a number that occurs in the model, or 1. Each proposal
// passes InferAt and leaves no more nodes without types than `measured` does, but evaluation may
// still fail. Empty if the graph has no free dimensions (FreeDims), if nothing was found, or if
// `stop` fires. Takes at most a few dozen inferences, each n log n in the number of dimensions.
// In an empty batch, dimensions with the same name have the same size, because almost any dims fit
// together if there are no elements.
std::vector<Shapes> ProposeBindings(const model::Graph& graph, const Shapes& measured,
                                    BindingKind kind, const StopCondition& stop);

// Proposes bindings of kLong or kLargeBatch. `numbers` are those that occur in the models, and
// larger ones are tried first. The inputs together have at most `most_growth` times as many
// elements as in `measured`. At most six, after a few dozen inferences.
std::vector<Shapes> ProposeLarge(const model::Graph& graph, const Shapes& measured,
                                 BindingKind kind, std::vector<int64_t> numbers, double most_growth,
                                 const StopCondition& stop);

// Bindings of the kind kSomeAreOne.
struct BrokenNames {
  // For each two dimensions of one name: if the first may be 1 alone, there is a binding at which
  // it is 1 and the second is not. For each binding there are alternatives of other sizes, of which
  // one is enough.
  std::vector<std::vector<Shapes>> bindings;
  bool tried_all = true;  // False if there were too many dimensions to try all of them.
};

// Arguments and proposals as for ProposeBindings. Takes at most some hundreds of inferences, about
// one for each dimension that shares its name in most models.
BrokenNames ProposeBrokenNames(const model::Graph& graph, const Shapes& measured,
                               const StopCondition& stop);

}  // namespace quotient::verify
