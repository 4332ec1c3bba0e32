#pragma once

// Cut: extracts the part of a graph that can be computed. Opaque nodes, and nodes whose types are
// not static, are cut out: their outputs become inputs of the graph, and their inputs become
// outputs. So a model with one exotic node is still checked and measured everywhere else.

#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "core/model/graph.h"

namespace quotient::verify {

struct CutGraph {
  // No opaque nodes; every value that a node reads or produces is static.
  model::Graph graph;
  // Keys of the inputs and outputs of `graph`, parallel to them. Equal keys in the cuts of a model
  // and of its optimized form mean the same value. Inputs and outputs of the model have the keys
  // "input NAME" and "output NAME"; those of nodes that were cut out have keys as in `links`.
  std::vector<std::string> input_keys;
  std::vector<std::string> output_keys;
  // Values that are no part of `graph`, but are read by a node that was cut out or are outputs of
  // the model. Maps the reader ("output NAME", "node KEY input 0") to the source of the value
  // ("input NAME", "node KEY output 0", "the constant of digest HEX").
  std::map<std::string, std::string> links;
  // The keys of the live nodes that were cut out, and the number of these nodes.
  std::set<std::string> cut_keys;
  int cut_nodes = 0;
};

// The identity of a node across rewriting: the name of its first output.
std::string NodeKey(const model::Graph& graph, const model::Node& node);

// The types of `graph` must be inferred and its shapes bound. Fails only for an invalid graph.
absl::StatusOr<CutGraph> Cut(const model::Graph& graph);

// A value of the original's cut that the candidate's cut lacks.
struct Lack {
  std::string key;  // Key of an output, or of the reader of a link.
  std::string why;  // Continues a sentence that begins with the key: "is missing".
};
// Returns nullopt if the candidate has all outputs of the model and all inputs of each node that
// was cut out, with the same links. A node that was cut out may be gone from the candidate if no
// remaining link leads to it. Its outputs are random inputs of the cut, so if the outputs of both
// graphs agree they do not depend on that node.
std::optional<Lack> FindLack(const CutGraph& original, const CutGraph& candidate);

}  // namespace quotient::verify
