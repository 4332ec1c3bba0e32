#pragma once

// Limits on untrusted models. The first group is checked on the wire format, before protobuf
// allocates anything, and the rest while the parsed model is validated. A model beyond a limit is
// refused with LIMIT_BYTES, LIMIT_NODES, LIMIT_DIMS or LIMIT_DEPTH and a message that names the
// place.

#include <cstdint>

namespace quotient::onnx {

struct Limits {
  // --- Checked on the wire format ---

  // Size of the ONNX file. protobuf itself supports no more.
  int64_t max_model_bytes = (int64_t{1} << 31) - 1;
  // Size of the part that protobuf parses: the file without the raw bytes of its initializers.
  int64_t max_structure_bytes = int64_t{256} << 20;
  // Number of fields in the whole file. A field of two bytes can take hundreds of bytes in memory.
  int64_t max_fields = int64_t{8} << 20;
  // Nesting depth of messages. Each nested subgraph takes three levels: node, attribute, graph.
  int max_message_depth = 100;
  // Nesting depth of subgraphs. No more fit into the messages that protobuf, and so any runtime,
  // reads by default. Code that recurses into subgraphs relies on it.
  int max_subgraph_depth = 32;
  // Numbers of nodes and initializers in all graphs and functions together.
  int64_t max_nodes = 200'000;
  int64_t max_initializers = 200'000;
  // Number of inputs, outputs, value infos and quantization annotations, likewise.
  int64_t max_value_infos = 400'000;
  int64_t max_attributes_per_node = 256;
  int64_t max_functions = 10'000;
  int64_t max_opset_imports = 64;
  int64_t max_training_infos = 64;

  // --- Checked in the parsed model ---

  int64_t max_name_bytes = 4096;  // For values, nodes, operators, symbols, external locations.
  int max_rank = 64;
  int64_t max_dim = int64_t{1} << 40;
  // Size of any tensor, whether the model contains it or only declares its type.
  int64_t max_tensor_bytes = int64_t{1} << 36;
  // Nesting depth of function calls.
  int max_call_depth = 64;

  friend bool operator==(const Limits&, const Limits&) = default;
};

}  // namespace quotient::onnx
