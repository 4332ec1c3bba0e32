// One walk over the file's graph in topological order. It is one class, however long, because how a
// node is read depends on all that was read before: types, constants, and what cannot be computed.

#include "core/onnx/build_graph.h"

#include <algorithm>
#include <memory>
#include <optional>
#include <string>
#include <utility>

#include "absl/container/flat_hash_map.h"
#include "absl/container/flat_hash_set.h"
#include "absl/strings/str_cat.h"
#include "core/base/log.h"
#include "core/base/reason.h"
#include "core/base/status_macros.h"
#include "core/onnx/attributes.h"
#include "core/onnx/coerced_softmax.h"
#include "core/onnx/decode_node.h"
#include "core/onnx/errors.h"
#include "core/onnx/objection.h"
#include "core/onnx/opaque_types.h"
#include "core/onnx/schema.h"
#include "core/onnx/scopes.h"
#include "core/onnx/types.h"
#include "core/ops/op.h"

namespace quotient::onnx {
namespace {

using model::Graph;
using model::Node;
using model::Opaque;
using model::Tensor;
using model::TensorType;
using model::ValueId;

std::string OperatorText(const NodeProto& node) {
  const absl::string_view domain = CanonicalDomain(node.domain());
  return domain.empty() ? node.op_type() : absl::StrCat(domain, ".", node.op_type());
}

class GraphBuilder {
 public:
  GraphBuilder(const ReadOptions& options, Skeleton& skeleton)
      : options_(options),
        skeleton_(skeleton),
        proto_(skeleton.proto.graph()),
        source_(skeleton.weights()) {
    for (const FunctionProto& function : skeleton.proto.functions()) {
      functions_.insert(absl::StrCat(CanonicalDomain(function.domain()), ".", function.name()));
    }
  }

  absl::StatusOr<Graph> Build(const std::vector<int>& order) {
    graph_.name = proto_.name();
    QUOTIENT_RETURN_IF_ERROR(ReadDeclaredTypes());
    CollectReadNames();
    QUOTIENT_RETURN_IF_ERROR(AddInputs());
    AddInitializers();
    for (int index : order) QUOTIENT_RETURN_IF_ERROR(AddNode(index));
    for (const ValueInfoProto& output : proto_.output()) {
      graph_.outputs.push_back(values_.at(output.name()));
    }
    return ResolveCoercedSoftmax(std::move(graph_), coerced_);
  }

 private:
  absl::Status ReadDeclaredTypes() {
    const auto read = [this](const ValueInfoProto& info, absl::string_view what) {
      const std::string where = absl::StrCat(what, " '", Escaped(info.name()), "'");
      absl::StatusOr<DeclaredType> type = ReadType(info.type(), where, skeleton_.limits);
      if (type.ok()) types_[info.name()] = *std::move(type);
      return type.status();
    };
    // What is said of inputs is a contract; of other values it is a claim, which may be nonsense.
    const auto read_claims = [&](const auto& infos, absl::string_view what) {
      for (const ValueInfoProto& info : infos) {
        const absl::Status status = read(info, what);
        if (!status.ok()) ObjectToDeclaration(info.name(), std::string(status.message()));
      }
    };
    read_claims(proto_.value_info(), "value_info");
    read_claims(proto_.output(), "output");
    for (const ValueInfoProto& input : proto_.input()) {
      QUOTIENT_RETURN_IF_ERROR(read(input, "input"));
    }
    return absl::OkStatus();
  }

  absl::Status AddInputs() {
    absl::flat_hash_map<absl::string_view, int> initializers;
    for (int i = 0; i < proto_.initializer_size(); ++i) {
      initializers.emplace(proto_.initializer(i).name(), i);
    }
    // Before IR version 4 every initializer had to be listed as an input and was no less constant.
    const bool overridable = skeleton_.proto.ir_version() >= 4;
    for (const ValueInfoProto& input : proto_.input()) {
      const auto initializer = initializers.find(input.name());
      const bool has_default = initializer != initializers.end();
      if (has_default && !overridable) continue;
      const DeclaredType& declared = types_.at(input.name());
      if (!input.has_type()) {
        ObjectToDeclaration(input.name(),
                            absl::StrCat("input '", Escaped(input.name()), "': has no type"));
      }
      const ValueId id = graph_.AddInput(input.name(), declared.type);
      Name(id, input.name(), declared.computable);
      if (has_default) QUOTIENT_RETURN_IF_ERROR(AddDefault(initializer->second, id));
      skeleton_.input_names.push_back(input.name());
      skeleton_.input_types.push_back(graph_.value(id).type);
    }
    return absl::OkStatus();
  }

  absl::Status AddDefault(int initializer, ValueId id) {
    const TensorProto& proto = proto_.initializer(initializer);
    defaults_.insert(initializer);
    if (!IsRepresentable(proto)) {
      computable_[id.value()] = false;
      return absl::OkStatus();
    }
    Tensor tensor = ToTensor(proto, skeleton_.raw_data[initializer], source_);
    TensorType& declared = graph_.value(id).type;
    if (declared.dtype == model::DType::kUndefined) declared.dtype = tensor.dtype();
    if (!model::Compatible(declared, tensor.type())) {
      return ErrorAt(Reason::kModelShape, absl::StrCat("input '", Escaped(proto.name()), "'"),
                     absl::StrCat("is declared ", model::ToString(declared), ", its default is ",
                                  model::ToString(tensor.type())));
    }
    graph_.defaults.back() = std::move(tensor);
    return absl::OkStatus();
  }

  void AddInitializers() {
    for (int i = 0; i < proto_.initializer_size(); ++i) {
      if (defaults_.contains(i)) continue;
      const TensorProto& proto = proto_.initializer(i);
      if (!IsRepresentable(proto)) {
        AddOpaqueInitializer(Opaque::Kind::kInitializer, proto.name(), WithRawData(i));
        continue;
      }
      Tensor tensor = ToTensor(proto, skeleton_.raw_data[i], source_);
      skeleton_.constants.insert_or_assign(
          proto.name(), Skeleton::Constant{tensor, /*initializer=*/i, /*node=*/-1});
      AddConstant(proto.name(), std::move(tensor));
    }
    for (const SparseTensorProto& sparse : proto_.sparse_initializer()) {
      const std::string& name = sparse.values().name();
      if (values_.contains(name)) continue;  // the default of an input, which the writer keeps
      AddOpaqueInitializer(Opaque::Kind::kSparseInitializer, name, sparse.SerializeAsString());
    }
  }

  std::string WithRawData(int initializer) const {
    TensorProto proto = proto_.initializer(initializer);
    const absl::string_view raw = skeleton_.raw_data[initializer];
    if (!raw.empty()) proto.set_raw_data(raw.data(), raw.size());
    return proto.SerializeAsString();
  }

  void AddConstant(const std::string& name, Tensor tensor) {
    const bool computable = model::IsComputable(tensor.dtype());
    Name(graph_.AddConstant(name, std::move(tensor)), name, computable);
  }

  void AddOpaqueInitializer(Opaque::Kind kind, const std::string& name, std::string proto) {
    auto opaque = std::make_shared<Opaque>();
    opaque->kind = kind;
    opaque->op = kind == Opaque::Kind::kInitializer ? "Initializer" : "SparseInitializer";
    opaque->proto = std::move(proto);
    Node node;
    node.op = model::kOpaqueOp;
    node.opaque = std::move(opaque);
    node.outputs.push_back(AddDeclaredValue(name));
    Name(node.outputs[0], name, /*computable=*/false);
    graph_.AddNode(std::move(node));
  }

  absl::Status AddNode(int index) {
    const NodeProto& proto = proto_.node(index);
    if (!IsStandard(proto)) return AddOpaqueNode(proto);
    // Ids of outputs are made only once the node is known not to be opaque; for decoding it is
    // enough which of them exist.
    const std::vector<bool> exists = OutputsThatCount(proto);
    // A node that makes nothing can only be passed through.
    if (std::find(exists.begin(), exists.end(), true) == exists.end()) return AddOpaqueNode(proto);

    if (proto.op_type() == "Constant" && proto.output_size() == 1) {
      if (std::optional<Tensor> value = ConstantNodeValue(proto, source_)) {
        skeleton_.constants.insert_or_assign(
            proto.output(0), Skeleton::Constant{*value, /*initializer=*/-1, /*node=*/index});
        AddConstant(proto.output(0), *std::move(value));
        return absl::OkStatus();
      }
    }
    if (const auto objection = Objection(proto, skeleton_.opset)) {
      ObjectToNode(index, *objection);
      return AddOpaqueNode(proto);
    }
    if (const auto why = options_.opaque_nodes.find(proto.output(0));
        why != options_.opaque_nodes.end()) {
      ObjectToNode(index, why->second);
      return AddOpaqueNode(proto);
    }
    const NodeInputs inputs = InputsOf(proto);
    if (!TouchesComputableValuesOnly(proto, inputs)) return AddOpaqueNode(proto);
    std::vector<ValueId> outputs;
    for (const bool one : exists) outputs.push_back(one ? ValueId(0) : ValueId());
    absl::StatusOr<std::optional<Node>> node =
        DecodeNode(proto, skeleton_.opset, inputs, std::move(outputs), source_);
    if (!node.ok()) {
      if (!ParametersMakeNoSense(node.status())) return node.status();
      ObjectToNode(index, node.status().message());
      return AddOpaqueNode(proto);
    }
    if (!node->has_value()) return AddOpaqueNode(proto);
    AddDecodedNode(proto, **std::move(node), exists);
    return absl::OkStatus();
  }

  // An operator of the default domain, and no call of a function of the model.
  bool IsStandard(const NodeProto& proto) const {
    const absl::string_view domain = CanonicalDomain(proto.domain());
    return domain.empty() && !functions_.contains(absl::StrCat(domain, ".", proto.op_type()));
  }

  static bool ParametersMakeNoSense(const absl::Status& status) {
    const std::optional<Reason> reason = GetReason(status);
    return reason == Reason::kModelMalformed || reason == Reason::kModelShape;
  }

  // The node has an output: one that has none is passed through without being looked at.
  void ObjectToNode(int index, absl::string_view what) {
    const NodeProto& proto = proto_.node(index);
    const auto named = std::ranges::find_if(
        proto.output(), [](const std::string& output) { return !output.empty(); });
    skeleton_.objections.push_back(
        {ObjectionAt::Part::kNode, *named, absl::StrCat(NodeLabel(index, proto), ": ", what)});
  }

  void ObjectToDeclaration(const std::string& value, std::string text) {
    skeleton_.objections.push_back({ObjectionAt::Part::kDeclaration, value, std::move(text)});
  }

  // Which outputs the node has to make. An output that nothing reads is ignored if the operator's
  // row does not have it, such as the mask of a Dropout. BatchNormalization is an exception,
  // because before opset 14 the number of its outputs said whether it trains.
  std::vector<bool> OutputsThatCount(const NodeProto& proto) const {
    const ops::OpDef* op = ops::FindOp(proto.op_type());
    const bool may_drop =
        op != nullptr && op->max_outputs >= 0 && proto.op_type() != "BatchNormalization";
    std::vector<bool> counts;
    for (int i = 0; i < proto.output_size(); ++i) {
      const std::string& name = proto.output(i);
      const bool is_dropped = may_drop && i >= op->max_outputs && !read_names_.contains(name);
      counts.push_back(!name.empty() && !is_dropped);
    }
    return counts;
  }

  void CollectReadNames() {
    for (const NodeProto& node : proto_.node()) {
      read_names_.insert(node.input().begin(), node.input().end());
      for (std::string& captured : CapturedNames(node)) read_names_.insert(std::move(captured));
    }
    for (const ValueInfoProto& output : proto_.output()) read_names_.insert(output.name());
  }

  void AddDecodedNode(const NodeProto& proto, Node node, const std::vector<bool>& exists) {
    node.name = proto.name();
    node.source = proto.SerializeAsString();
    node.outputs = AddOutputs(proto, exists);
    while (!node.outputs.empty() && !node.outputs.back().valid()) node.outputs.pop_back();
    if (node.attributes.Has(kCoercedAxis)) {
      const size_t before = graph_.values.size();
      coerced_.push_back(AddCoercedSoftmax(std::move(node), AllNames(), graph_));
      for (size_t v = before; v < graph_.values.size(); ++v) {
        skeleton_.inner_values.emplace(graph_.values[v].name, proto.output(0));
      }
    } else {
      graph_.AddNode(std::move(node));
    }
  }

  absl::Status AddOpaqueNode(const NodeProto& proto) {
    auto opaque = std::make_shared<Opaque>();
    opaque->op = OperatorText(proto);
    opaque->proto = proto.SerializeAsString();
    opaque->first_captured_input = proto.input_size();
    if (IsStandard(proto)) opaque->infer_types = OpaqueTypes(proto, skeleton_.opset);
    Node node;
    node.name = proto.name();
    node.op = model::kOpaqueOp;
    node.opaque = std::move(opaque);
    node.inputs = InputsOf(proto).ids;
    for (const std::string& captured : CapturedNames(proto)) {
      node.inputs.push_back(values_.at(captured));
    }
    node.outputs = AddOutputs(proto, std::vector<bool>(proto.output_size(), true));
    graph_.AddNode(std::move(node));
    return absl::OkStatus();
  }

  NodeInputs InputsOf(const NodeProto& proto) const {
    NodeInputs inputs;
    for (const std::string& name : proto.input()) {
      const ValueId id = name.empty() ? ValueId() : values_.at(name);
      const model::Value* value = id.valid() ? &graph_.value(id) : nullptr;
      inputs.ids.push_back(id);
      inputs.constants.push_back(value != nullptr && value->constant.has_value() ? &*value->constant
                                                                                 : nullptr);
      inputs.types.push_back(value != nullptr ? &value->type : nullptr);
    }
    return inputs;
  }

  bool TouchesComputableValuesOnly(const NodeProto& proto, const NodeInputs& inputs) const {
    for (ValueId id : inputs.ids) {
      if (id.valid() && !computable_[id.value()]) return false;
    }
    for (const std::string& name : proto.output()) {
      const auto declared = types_.find(name);
      if (declared != types_.end() && !declared->second.computable) return false;
    }
    return true;
  }

  std::vector<ValueId> AddOutputs(const NodeProto& proto, const std::vector<bool>& exists) {
    std::vector<ValueId> outputs;
    for (int i = 0; i < proto.output_size(); ++i) {
      const std::string& name = proto.output(i);
      if (name.empty() || !exists[i]) {
        outputs.emplace_back();
        continue;
      }
      const auto declared = types_.find(name);
      outputs.push_back(AddDeclaredValue(name));
      Name(outputs.back(), name, declared == types_.end() || declared->second.computable);
    }
    return outputs;
  }

  // Adds the output of a node. Its type is left to inference.
  ValueId AddDeclaredValue(const std::string& name) {
    const ValueId id = graph_.AddValue(name, TensorType());
    const auto declared = types_.find(name);
    if (declared != types_.end()) graph_.value(id).declared = declared->second.type;
    return id;
  }

  void Name(ValueId id, const std::string& name, bool computable) {
    values_[name] = id;
    computable_.resize(graph_.values.size(), true);
    computable_[id.value()] = computable;
  }

  // All names of the model. They are collected when the first new name is needed.
  NamePool& AllNames() {
    if (!names_.has_value()) {
      names_.emplace();
      for (const ValueInfoProto& input : proto_.input()) names_->Take(input.name());
      for (const TensorProto& tensor : proto_.initializer()) names_->Take(tensor.name());
      for (const SparseTensorProto& sparse : proto_.sparse_initializer()) {
        names_->Take(sparse.values().name());
      }
      for (const NodeProto& node : proto_.node()) TakeNames(node, *names_);
    }
    return *names_;
  }

  const ReadOptions& options_;
  Skeleton& skeleton_;
  const GraphProto& proto_;
  const WeightSource source_;
  absl::flat_hash_set<std::string> functions_;  // "domain.name"

  Graph graph_;
  absl::flat_hash_map<std::string, DeclaredType> types_;
  absl::flat_hash_map<std::string, ValueId> values_;
  absl::flat_hash_set<std::string> read_names_;  // by nodes, their subgraphs, or the outside
  std::vector<bool> computable_;                 // by value
  absl::flat_hash_set<int> defaults_;            // initializers that are defaults of inputs
  std::vector<CoercedSoftmax> coerced_;
  std::optional<NamePool> names_;
};

}  // namespace

absl::StatusOr<Graph> BuildGraph(const std::vector<int>& order, const ReadOptions& options,
                                 Skeleton& skeleton) {
  return GraphBuilder(options, skeleton).Build(order);
}

}  // namespace quotient::onnx
