#pragma once

// Makes graphs and tensors for tests.

#include <cstdlib>
#include <initializer_list>
#include <iostream>
#include <string>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/string_view.h"
#include "core/model/graph.h"
#include "core/model/text.h"

namespace quotient::testing {

// Parses a graph. Ends the program if the text is not a graph, because the test itself is wrong
// then.
inline model::Graph MustParse(absl::string_view text) {
  absl::StatusOr<model::Graph> graph = model::ParseGraph(text);
  if (!graph.ok()) {
    std::cerr << "MustParse: " << graph.status() << "\n" << text << "\n";
    std::abort();
  }
  return *std::move(graph);
}

// The value with this name, which must exist.
inline model::ValueId MustFind(const model::Graph& graph, absl::string_view name) {
  for (uint32_t i = 0; i < graph.values.size(); ++i) {
    if (graph.values[i].name == name) return model::ValueId(i);
  }
  std::cerr << "MustFind: no value '" << name << "'\n";
  std::abort();
}

// The type as text, with "?" for every dimension whose name was invented by inference.
inline std::string TypeText(model::TensorType type) {
  if (type.has_rank()) {
    for (model::Dim& dim : *type.shape) {
      if (absl::StartsWith(dim.symbol(), model::kInferredSymbol)) dim = model::Dim();
    }
  }
  return model::ToString(type);
}

inline model::Tensor Floats(std::vector<int64_t> dims, std::initializer_list<float> values) {
  return model::Tensor::Floats(std::move(dims), std::vector<float>(values));
}

inline model::Tensor Ints(std::vector<int64_t> dims, std::initializer_list<int64_t> values) {
  return model::Tensor::Ints(std::move(dims), std::vector<int64_t>(values));
}

}  // namespace quotient::testing
