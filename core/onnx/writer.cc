#include "core/onnx/writer.h"

#include <optional>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "core/base/log.h"
#include "core/base/reason.h"
#include "core/base/status_macros.h"
#include "core/onnx/attributes.h"
#include "core/onnx/constant_writer.h"
#include "core/onnx/descriptions.h"
#include "core/onnx/encode_node.h"
#include "core/onnx/errors.h"
#include "core/onnx/node_names.h"
#include "core/onnx/opset.h"
#include "core/onnx/schema.h"
#include "core/onnx/skeleton.h"
#include "core/onnx/source_form.h"
#include "core/onnx/value_names.h"

namespace quotient::onnx {
namespace {

using model::Graph;
using model::Node;
using model::Opaque;
using model::ValueId;

bool KeepsSourceForm(const Skeleton& skeleton, const NodeProto& source, int opset) {
  return opset == skeleton.opset || SameMeaning(source.op_type(), skeleton.opset, opset);
}

class ModelWriter {
 public:
  ModelWriter(const Skeleton& skeleton, const Graph& graph, ValueNames names,
              const WriteOptions& options)
      : skeleton_(skeleton),
        graph_(graph),
        options_(options),
        names_(std::move(names)),
        node_names_(skeleton, graph),
        model_(skeleton.proto),
        out_(*model_.mutable_graph()),
        constants_(skeleton, names_, options.constants_as_initializers, &out_) {}

  absl::StatusOr<WrittenModel> Write() && {
    for (const Node& node : graph_.nodes) {
      sources_.push_back(UnchangedSource(graph_, node, skeleton_));
    }
    WrittenModel written;
    QUOTIENT_ASSIGN_OR_RETURN(written.opset, ChooseOpset());
    opset_ = written.opset;
    SetOpset(opset_, &model_);

    out_.clear_node();
    out_.clear_initializer();
    out_.clear_sparse_initializer();
    EmitAliasesOfSources();
    for (size_t n = 0; n < graph_.nodes.size(); ++n) QUOTIENT_RETURN_IF_ERROR(EmitNode(n));
    for (ValueId output : graph_.outputs) Use(output);
    out_.mutable_output()->DeleteSubrange(out_.output_size() - skeleton_.kept_values,
                                          skeleton_.kept_values);
    KeepDescriptions({skeleton_, graph_, names_, options_.bind_types}, constants_, &out_);
    if (options_.annotate_types) AnnotateTypes(graph_, names_, &out_);
    QUOTIENT_RETURN_IF_ERROR(constants_.Finish(options_, &model_, &written));
    QUOTIENT_RETURN_IF_ERROR(Serialize(&written.bytes));
    return written;
  }

 private:
  // Returns the lowest opset in which every node can be written.
  absl::StatusOr<int> ChooseOpset() const {
    const int wanted = options_.max_opset == 0 ? skeleton_.opset : options_.max_opset;
    const int highest = onnx::HighestOpset(skeleton_, wanted);
    int opset = skeleton_.opset;
    // An opset that one node needs may not be able to express another node, so all are checked
    // again whenever the opset is raised.
    for (size_t n = 0; n < graph_.nodes.size();) {
      if (CanSay(n, opset)) {
        ++n;
      } else if (++opset <= highest) {
        n = 0;
      } else {
        return ErrorAt(
            Reason::kOpsetUnknown,
            absl::StrCat("node '", Escaped(graph_.nodes[n].name), "' (", graph_.nodes[n].op, ")"),
            absl::StrCat("cannot be written in any opset from ", skeleton_.opset, " to ", highest));
      }
    }
    return opset;
  }

  bool CanSay(size_t n, int opset) const {
    const Node& node = graph_.nodes[n];
    if (node.is_opaque()) return true;  // HighestOpset takes these into account.
    if (sources_[n].has_value() && KeepsSourceForm(skeleton_, *sources_[n], opset)) return true;
    return EncodeNode(graph_, node, opset).has_value();
  }

  absl::Status EmitNode(size_t n) {
    const Node& node = graph_.nodes[n];
    NodeProto proto;
    if (node.is_opaque()) {
      if (node.opaque->kind != Opaque::Kind::kNode) return EmitOpaqueInitializer(node);
      if (!proto.ParseFromString(node.opaque->proto)) return BadPayload(node);
      FillOpaque(node, &proto);
    } else if (sources_[n].has_value() && KeepsSourceForm(skeleton_, *sources_[n], opset_)) {
      proto = *sources_[n];
      FillUnchanged(node, &proto);
    } else {
      FillEncoded(node, &proto);
    }
    const std::string& name = node_names_.Of(n);
    if (name.empty()) {
      proto.clear_name();
    } else {
      proto.set_name(name);
    }
    *out_.add_node() = std::move(proto);
    for (ValueId output : node.outputs) {
      if (output.valid()) EmitAliases(output);
    }
    return absl::OkStatus();
  }

  // Returns the name by which nodes read the value, and defines it if it is a constant.
  std::string Use(ValueId id) {
    if (!id.valid()) return "";
    const model::Value& value = graph_.value(id);
    if (value.constant.has_value()) constants_.Define(names_.Of(id), *value.constant);
    return names_.Of(id);
  }

  std::string NameOrEmpty(const std::vector<ValueId>& ids, int index) const {
    const auto i = static_cast<size_t>(index);
    return i < ids.size() && ids[i].valid() ? names_.Of(ids[i]) : "";
  }

  void FillOpaque(const Node& node, NodeProto* proto) {
    for (int i = 0; i < proto->input_size(); ++i) proto->set_input(i, Use(node.inputs[i]));
    for (size_t i = proto->input_size(); i < node.inputs.size(); ++i) Use(node.inputs[i]);
    for (int i = 0; i < proto->output_size(); ++i) {
      proto->set_output(i, NameOrEmpty(node.outputs, i));
    }
  }

  void FillUnchanged(const Node& node, NodeProto* proto) {
    for (int i = 0; i < proto->input_size(); ++i) {
      const auto slot = static_cast<size_t>(i);
      if (slot < node.inputs.size() && node.inputs[slot].valid()) {
        proto->set_input(i, Use(node.inputs[slot]));
      } else if (!proto->input(i).empty()) {
        const std::string name = proto->input(i);
        proto->set_input(
            i, constants_.DefineParameter(skeleton_.constants.at(name).tensor, name, name));
      }
    }
    for (int i = 0; i < proto->output_size(); ++i) {
      proto->set_output(i, NameOrEmpty(node.outputs, i));
    }
  }

  void FillEncoded(const Node& node, NodeProto* proto) {
    NodeProto source;
    if (!node.source.empty() && source.ParseFromString(node.source)) *proto = source;
    const EncodedNode encoded = *EncodeNode(graph_, node, opset_);
    proto->set_op_type(encoded.op);
    proto->clear_input();
    proto->clear_output();
    proto->clear_attribute();
    const std::string stem = NameOrEmpty(node.outputs, 0);
    for (size_t i = 0; i < encoded.inputs.size(); ++i) {
      const EncodedNode::Input& input = encoded.inputs[i];
      if (!input.constant.has_value()) {
        proto->add_input(Use(input.value));
        continue;
      }
      const std::string original =
          static_cast<int>(i) < source.input_size() ? source.input(static_cast<int>(i)) : "";
      proto->add_input(constants_.DefineParameter(*input.constant, original,
                                                  absl::StrCat(stem, "_", input.parameter)));
    }
    for (size_t i = 0; i < node.outputs.size(); ++i) {
      proto->add_output(NameOrEmpty(node.outputs, static_cast<int>(i)));
    }
    for (const auto& [name, value] : encoded.attributes) {
      *proto->add_attribute() = WriteAttribute(name, value);
    }
  }

  absl::Status EmitOpaqueInitializer(const Node& node) {
    const std::string& name = names_.Of(node.outputs[0]);
    if (node.opaque->kind == Opaque::Kind::kInitializer) {
      TensorProto tensor;
      if (!tensor.ParseFromString(node.opaque->proto)) return BadPayload(node);
      tensor.set_name(name);
      constants_.DefineOpaque(std::move(tensor));
    } else {
      SparseTensorProto sparse;
      if (!sparse.ParseFromString(node.opaque->proto)) return BadPayload(node);
      sparse.mutable_values()->set_name(name);
      constants_.DefineSparse(sparse);
    }
    EmitAliases(node.outputs[0]);
    return absl::OkStatus();
  }

  static absl::Status BadPayload(const Node& node) {
    return MakeError(Reason::kInternal,
                     absl::StrCat("opaque node '", Escaped(node.name), "' has lost its content"));
  }

  void EmitAliases(ValueId id) {
    for (const std::string& alias : names_.Aliases(id)) {
      const std::string input = Use(id);
      NodeProto* identity = out_.add_node();
      identity->set_op_type("Identity");
      identity->set_name(node_names_.Fresh(absl::StrCat(alias, "_identity")));
      identity->add_input(input);
      identity->add_output(alias);
    }
  }

  // Emits the aliases of inputs and constants.
  void EmitAliasesOfSources() {
    for (uint32_t v = 0; v < graph_.values.size(); ++v) {
      if (!graph_.values[v].producer.valid()) EmitAliases(ValueId(v));
    }
  }

  absl::Status Serialize(std::string* bytes) const {
    if (model_.ByteSizeLong() > (size_t{1} << 31) - 1) {
      return ErrorAt(Reason::kLimitBytes, "result",
                     absl::StrCat(model_.ByteSizeLong(), " bytes do not fit into one protobuf"));
    }
    if (model_.SerializeToString(bytes)) return absl::OkStatus();
    return MakeError(Reason::kInternal, "the result could not be serialized");
  }

  const Skeleton& skeleton_;
  const Graph& graph_;
  const WriteOptions& options_;
  ValueNames names_;
  NodeNames node_names_;
  std::vector<std::optional<NodeProto>> sources_;  // By node: its source, if the node is unchanged.
  int opset_ = 0;
  ModelProto model_;
  GraphProto& out_;
  ConstantWriter constants_;
};

}  // namespace

absl::StatusOr<WrittenModel> Write(const Model& original, const Graph& optimized,
                                   const WriteOptions& options) {
  QUOTIENT_ASSIGN_OR_RETURN(ValueNames names, ValueNames::Assign(optimized, *original.skeleton));
  return ModelWriter(*original.skeleton, optimized, std::move(names), options).Write();
}

int HighestOpset(const Model& model, int max_opset) {
  return HighestOpset(*model.skeleton, max_opset);
}

std::string OperatorThatKeepsOpset(const Model& model, int max_opset) {
  return OperatorThatKeepsOpset(*model.skeleton, max_opset);
}

}  // namespace quotient::onnx
