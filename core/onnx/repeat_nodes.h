#pragma once

#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"

namespace quotient::onnx {

struct RepeatedModel {
  std::string bytes;
  std::vector<std::string> outputs;  // Its outputs, at least one.
};

// Makes a model in which the nodes of a model are there several times, each time with initializers
// of their own, so that what a runtime takes for them follows from the times of two such models.
//
// What becomes of nodes that change the layouts of a model's inputs and outputs.
enum class Borders {
  kRepeated,  // They are like all others.
  // Nodes that bring its inputs into blocked layouts are there once, and nodes that bring its
  // outputs back are left out: in a larger graph they stand elsewhere.
  kElsewhere,
};

// What becomes of the memory of a copy's results.
enum class Memory {
  kKept,   // It is in use until all copies have run.
  kFreed,  // A Shape reads each result, after which its memory is free for the next copy. In a
           // graph, too, memory is used again soon, and is in the cache then.
};

// `model` is a graph as ONNX Runtime has optimized it. Fails with INVALID_ARGUMENT if the bytes are
// no model, and with NOT_FOUND if no node is left.
absl::StatusOr<RepeatedModel> RepeatNodes(absl::string_view model, int copies,
                                          Borders borders = Borders::kElsewhere,
                                          Memory memory = Memory::kKept);

}  // namespace quotient::onnx
