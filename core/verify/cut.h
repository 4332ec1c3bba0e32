#pragma once

// Cut: the part of a graph that can be computed. Opaque nodes, and nodes whose types are not
// static, are cut out: what they produce becomes an input, what they read becomes an output.
// So a model with one exotic node is still checked and measured everywhere else.

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
  // What the inputs and outputs of `graph` are, parallel to them: equal keys in the cuts of a model
  // and of its optimized form mean the same value. Inputs and outputs of the model have the keys
  // "input NAME" and "output NAME".
  std::vector<std::string> input_keys;
  std::vector<std::string> output_keys;
  // What no node of `graph` computes or reads passes by: what reads it ("output NAME", "node KEY
  // input 0") and what it is ("input NAME", "node KEY output 0", "a constant").
  std::map<std::string, std::string> links;
  // The keys of live nodes that were cut out, and how many those are.
  std::set<std::string> cut_keys;
  int cut_nodes = 0;
};

// `graph` has its types inferred and its shapes bound. Fails only on a broken graph.
absl::StatusOr<CutGraph> Cut(const model::Graph& graph);

// What the cut of a candidate lacks that the cut of its original has.
struct Lack {
  std::string key;  // of an output or of what reads a link
  std::string why;  // what follows the key in a sentence: "is missing"
};
// Nothing if the candidate has all outputs of the model, and for each node that was cut out all
// that it reads, with the same links. A node may be gone if nothing that is left is linked to it:
// what it made was drawn at random then, so equal outputs say that they do not depend on it.
std::optional<Lack> FindLack(const CutGraph& original, const CutGraph& candidate);

}  // namespace quotient::verify
