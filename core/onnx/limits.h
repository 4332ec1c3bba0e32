#pragma once

// What a model may cost before anybody has looked into it. The first group is checked on the wire
// format, before protobuf allocates anything; the rest while the parsed model is validated. A
// model past a limit is refused with LIMIT_BYTES, LIMIT_NODES, LIMIT_DIMS or LIMIT_DEPTH and the
// place where it happened.

#include <cstdint>

namespace quotient::onnx {

struct Limits {
  // --- on the wire ---

  // The ONNX file. protobuf itself cannot hold more.
  int64_t max_model_bytes = (int64_t{1} << 31) - 1;
  // The file without the raw bytes of its initializers: what protobuf has to parse.
  int64_t max_structure_bytes = int64_t{256} << 20;
  // Wire fields in all. A field of two bytes can become a message of hundreds in memory.
  int64_t max_fields = int64_t{8} << 20;
  // Messages within messages; two of three levels of a nested subgraph are not graphs.
  int max_message_depth = 100;
  // Graphs within the main graph's attributes, within those graphs' attributes, ...
  int max_subgraph_depth = 16;
  // In all graphs and functions together.
  int64_t max_nodes = 200'000;
  int64_t max_initializers = 200'000;
  int64_t max_attributes_per_node = 256;
  int64_t max_functions = 10'000;
  int64_t max_opset_imports = 64;

  // --- in the parsed model ---

  int64_t max_name_bytes = 4096;  // of a value, node, operator, symbol, external location
  int max_rank = 64;
  int64_t max_dim = int64_t{1} << 40;
  // Of any tensor, whether the model holds it or only declares its type.
  int64_t max_tensor_bytes = int64_t{1} << 36;
  // Functions that call functions.
  int max_call_depth = 64;

  friend bool operator==(const Limits&, const Limits&) = default;
};

}  // namespace quotient::onnx
