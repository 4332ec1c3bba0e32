#include "core/onnx/scan.h"

#include <array>
#include <cstdint>
#include <utility>

#include "absl/strings/str_cat.h"
#include "core/base/status_macros.h"
#include "core/onnx/errors.h"
#include "core/onnx/wire.h"

namespace quotient::onnx {
namespace {

// The messages of onnx.proto that are scanned.
enum class Message : uint8_t {
  kNone,  // A string, packed numbers, or an unknown field, none of which is examined.
  kModel,
  kGraph,
  kNode,
  kAttribute,
  kTensor,
  kSparseTensor,
  kValueInfo,
  kType,
  kTensorType,   // Tensor and SparseTensor of TypeProto, which have a shape in field 2.
  kElementType,  // Sequence and Optional of TypeProto, which have a type in field 1.
  kMapType,
  kShape,
  kDimension,
  kFunction,
  kTrainingInfo,
  kOpsetImport,
  kEntry,  // A pair of strings.
  kAnnotation,
  kDevice,
  kNodeDevice,
  kSharding,
  kIntList,
  kShardedDim,
  kSimpleShardedDim,
  kCount
};

struct Edge {
  Message parent;
  uint32_t number;
  Message child;
  const char* name;
};

constexpr Edge kEdges[] = {
    {Message::kModel, 7, Message::kGraph, "graph"},
    {Message::kModel, 8, Message::kOpsetImport, "opset_import"},
    {Message::kModel, 14, Message::kEntry, "metadata_props"},
    {Message::kModel, 20, Message::kTrainingInfo, "training_info"},
    {Message::kModel, 25, Message::kFunction, "functions"},
    {Message::kModel, 26, Message::kDevice, "configuration"},
    {Message::kGraph, 1, Message::kNode, "node"},
    {Message::kGraph, 5, Message::kTensor, "initializer"},
    {Message::kGraph, 11, Message::kValueInfo, "input"},
    {Message::kGraph, 12, Message::kValueInfo, "output"},
    {Message::kGraph, 13, Message::kValueInfo, "value_info"},
    {Message::kGraph, 14, Message::kAnnotation, "quantization_annotation"},
    {Message::kGraph, 15, Message::kSparseTensor, "sparse_initializer"},
    {Message::kGraph, 16, Message::kEntry, "metadata_props"},
    {Message::kNode, 5, Message::kAttribute, "attribute"},
    {Message::kNode, 9, Message::kEntry, "metadata_props"},
    {Message::kNode, 10, Message::kNodeDevice, "device_configurations"},
    {Message::kAttribute, 5, Message::kTensor, "t"},
    {Message::kAttribute, 6, Message::kGraph, "g"},
    {Message::kAttribute, 10, Message::kTensor, "tensors"},
    {Message::kAttribute, 11, Message::kGraph, "graphs"},
    {Message::kAttribute, 14, Message::kType, "tp"},
    {Message::kAttribute, 15, Message::kType, "type_protos"},
    {Message::kAttribute, 22, Message::kSparseTensor, "sparse_tensor"},
    {Message::kAttribute, 23, Message::kSparseTensor, "sparse_tensors"},
    {Message::kTensor, 3, Message::kEntry, "segment"},
    {Message::kTensor, 13, Message::kEntry, "external_data"},
    {Message::kTensor, 16, Message::kEntry, "metadata_props"},
    {Message::kSparseTensor, 1, Message::kTensor, "values"},
    {Message::kSparseTensor, 2, Message::kTensor, "indices"},
    {Message::kValueInfo, 2, Message::kType, "type"},
    {Message::kValueInfo, 4, Message::kEntry, "metadata_props"},
    {Message::kType, 1, Message::kTensorType, "tensor_type"},
    {Message::kType, 4, Message::kElementType, "sequence_type"},
    {Message::kType, 5, Message::kMapType, "map_type"},
    {Message::kType, 7, Message::kEntry, "opaque_type"},
    {Message::kType, 8, Message::kTensorType, "sparse_tensor_type"},
    {Message::kType, 9, Message::kElementType, "optional_type"},
    {Message::kTensorType, 2, Message::kShape, "shape"},
    {Message::kElementType, 1, Message::kType, "elem_type"},
    {Message::kMapType, 2, Message::kType, "value_type"},
    {Message::kShape, 1, Message::kDimension, "dim"},
    {Message::kFunction, 7, Message::kNode, "node"},
    {Message::kFunction, 9, Message::kOpsetImport, "opset_import"},
    {Message::kFunction, 11, Message::kAttribute, "attribute_proto"},
    {Message::kFunction, 12, Message::kValueInfo, "value_info"},
    {Message::kFunction, 14, Message::kEntry, "metadata_props"},
    {Message::kTrainingInfo, 1, Message::kGraph, "initialization"},
    {Message::kTrainingInfo, 2, Message::kGraph, "algorithm"},
    {Message::kTrainingInfo, 3, Message::kEntry, "initialization_binding"},
    {Message::kTrainingInfo, 4, Message::kEntry, "update_binding"},
    {Message::kAnnotation, 2, Message::kEntry, "quant_parameter_tensor_names"},
    {Message::kNodeDevice, 2, Message::kSharding, "sharding_spec"},
    {Message::kSharding, 3, Message::kIntList, "index_to_device_group_map"},
    {Message::kSharding, 4, Message::kShardedDim, "sharded_dim"},
    {Message::kShardedDim, 2, Message::kSimpleShardedDim, "simple_sharding"},
};

constexpr uint32_t kMaxFieldNumber = 32;  // Greater than all field numbers in the table.

using EdgeTable =
    std::array<std::array<const Edge*, kMaxFieldNumber>, static_cast<size_t>(Message::kCount)>;

constexpr EdgeTable MakeEdgeTable() {
  EdgeTable table{};
  for (const Edge& edge : kEdges) table[static_cast<size_t>(edge.parent)][edge.number] = &edge;
  return table;
}

constexpr EdgeTable kEdgeTable = MakeEdgeTable();

const Edge* FindEdge(Message parent, uint32_t number) {
  if (number >= kMaxFieldNumber) return nullptr;
  return kEdgeTable[static_cast<size_t>(parent)][number];
}

class Scanner {
 public:
  explicit Scanner(const Limits& limits) : limits_(limits) {}

  // Recursion is bounded by max_message_depth.
  absl::Status Scan(Message kind, absl::string_view message) {
    if (static_cast<int>(path_.size()) > limits_.max_message_depth) {
      return Limit(Reason::kLimitDepth, "messages nested", limits_.max_message_depth);
    }
    std::array<int64_t, kMaxFieldNumber> seen{};
    WireReader reader(message);
    WireField field;
    while (reader.Next(&field)) {
      if (++fields_ > limits_.max_fields) {
        return Limit(Reason::kLimitNodes, "fields in the model", limits_.max_fields);
      }
      const Edge* edge = FindEdge(kind, field.number);
      if (edge == nullptr) continue;
      if (!field.is_bytes) return Malformed(absl::StrCat(Path(), ".", edge->name), "is no message");
      path_.emplace_back(edge, seen[field.number]++);
      QUOTIENT_RETURN_IF_ERROR(Count(*edge, seen[field.number]));
      if (edge->child == Message::kGraph) ++graph_depth_;
      QUOTIENT_RETURN_IF_ERROR(Scan(edge->child, field.payload));
      if (edge->child == Message::kGraph) --graph_depth_;
      path_.pop_back();
    }
    if (reader.error() != nullptr) {
      return Malformed(Path(), reader.error());
    }
    return absl::OkStatus();
  }

 private:
  absl::Status Count(const Edge& edge, int64_t siblings) {
    switch (edge.child) {
      case Message::kGraph:
        if (graph_depth_ <= limits_.max_subgraph_depth) return absl::OkStatus();
        return Limit(Reason::kLimitDepth, "subgraphs nested", limits_.max_subgraph_depth);
      case Message::kNode:
        if (++nodes_ <= limits_.max_nodes) return absl::OkStatus();
        return Limit(Reason::kLimitNodes, "nodes", limits_.max_nodes);
      case Message::kTensor:
      case Message::kSparseTensor:
        if (edge.parent != Message::kGraph) return absl::OkStatus();
        if (++initializers_ <= limits_.max_initializers) return absl::OkStatus();
        return Limit(Reason::kLimitNodes, "initializers", limits_.max_initializers);
      case Message::kValueInfo:
      case Message::kAnnotation:
        if (++value_infos_ <= limits_.max_value_infos) return absl::OkStatus();
        return Limit(Reason::kLimitNodes, "inputs, outputs and value infos",
                     limits_.max_value_infos);
      case Message::kAttribute:
        if (siblings <= limits_.max_attributes_per_node) return absl::OkStatus();
        return Limit(Reason::kLimitNodes, "attributes", limits_.max_attributes_per_node);
      case Message::kFunction:
        if (siblings <= limits_.max_functions) return absl::OkStatus();
        return Limit(Reason::kLimitNodes, "functions", limits_.max_functions);
      case Message::kOpsetImport:
        if (siblings <= limits_.max_opset_imports) return absl::OkStatus();
        return Limit(Reason::kLimitNodes, "opset imports", limits_.max_opset_imports);
      case Message::kTrainingInfo:
        if (siblings <= limits_.max_training_infos) return absl::OkStatus();
        return Limit(Reason::kLimitNodes, "training infos", limits_.max_training_infos);
      default:
        return absl::OkStatus();
    }
  }

  absl::Status Limit(Reason reason, absl::string_view what, int64_t limit) const {
    return ErrorAt(reason, Path(), absl::StrCat("more than ", limit, " ", what));
  }

  // "graph[0].node[3].attribute[0]". If messages nest deeply, only the innermost ones are named.
  std::string Path() const {
    constexpr size_t kShown = 8;
    std::string path = path_.empty() ? "model" : path_.size() > kShown ? "..." : "";
    for (size_t i = path_.size() > kShown ? path_.size() - kShown : 0; i < path_.size(); ++i) {
      absl::StrAppend(&path, path.empty() ? "" : ".", path_[i].first->name, "[", path_[i].second,
                      "]");
    }
    return path;
  }

  const Limits& limits_;
  std::vector<std::pair<const Edge*, int64_t>> path_;
  int graph_depth_ = 0;
  int64_t fields_ = 0;
  int64_t nodes_ = 0;
  int64_t initializers_ = 0;
  int64_t value_infos_ = 0;
};

// Numbers of the fields that StripModel looks for.
constexpr uint32_t kModelGraph = 7;
constexpr uint32_t kGraphInitializer = 5;
constexpr uint32_t kTensorRawData = 9;

// Smaller tensors are cheaper to copy than to set aside.
constexpr size_t kMinStrippedBytes = 1024;

std::string StripTensor(absl::string_view tensor, absl::string_view* raw_data) {
  std::string skeleton;
  WireReader reader(tensor);
  WireField field;
  while (reader.Next(&field)) {
    if (field.number == kTensorRawData && field.is_bytes &&
        field.payload.size() >= kMinStrippedBytes) {
      *raw_data = field.payload;
      AppendBytesField(kTensorRawData, "", &skeleton);
    } else {
      // A later raw_data replaces an earlier one, as in protobuf.
      if (field.number == kTensorRawData) *raw_data = {};
      skeleton.append(field.encoded.data(), field.encoded.size());
    }
  }
  return skeleton;
}

std::string StripGraph(absl::string_view graph, std::vector<absl::string_view>* raw_data) {
  std::string skeleton;
  WireReader reader(graph);
  WireField field;
  while (reader.Next(&field)) {
    if (field.number == kGraphInitializer) {
      raw_data->emplace_back();
      AppendBytesField(kGraphInitializer, StripTensor(field.payload, &raw_data->back()), &skeleton);
    } else {
      skeleton.append(field.encoded.data(), field.encoded.size());
    }
  }
  return skeleton;
}

}  // namespace

absl::Status ScanModel(absl::string_view model_bytes, const Limits& limits) {
  if (static_cast<int64_t>(model_bytes.size()) > limits.max_model_bytes) {
    return ErrorAt(
        Reason::kLimitBytes, "model",
        absl::StrCat(model_bytes.size(), " bytes, the limit is ", limits.max_model_bytes));
  }
  if (model_bytes.empty()) return Malformed("model", "no bytes");
  return Scanner(limits).Scan(Message::kModel, model_bytes);
}

StrippedModel StripModel(absl::string_view model_bytes) {
  StrippedModel stripped;
  WireReader reader(model_bytes);
  WireField field;
  while (reader.Next(&field)) {
    if (field.number == kModelGraph) {
      AppendBytesField(kModelGraph, StripGraph(field.payload, &stripped.raw_data),
                       &stripped.skeleton);
    } else {
      stripped.skeleton.append(field.encoded.data(), field.encoded.size());
    }
  }
  return stripped;
}

}  // namespace quotient::onnx
