#include "core/onnx/repeat_nodes.h"

#include <utility>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "absl/container/flat_hash_set.h"
#include "absl/strings/str_cat.h"
#include "core/onnx/proto.h"

namespace quotient::onnx {
namespace {

using Names = absl::flat_hash_set<std::string>;

bool IsBlocked(const NodeProto& node, absl::string_view op) {
  return node.domain() == "com.microsoft.nchwc" && node.op_type() == op;
}

class Repeater {
 public:
  // `source` is borrowed, and so is `out`, which has everything but nodes, initializers and
  // outputs.
  Repeater(const GraphProto& source, Borders borders, GraphProto* out) : out_(*out) {
    const bool elsewhere = borders == Borders::kElsewhere;
    for (const ValueInfoProto& input : source.input()) shared_.insert(input.name());
    Names outputs;
    for (const ValueInfoProto& output : source.output()) outputs.insert(output.name());
    for (const TensorProto& tensor : source.initializer()) {
      initializers_.emplace(tensor.name(), &tensor);
    }
    for (const NodeProto& node : source.node()) {
      if (elsewhere && IsBlocked(node, "ReorderInput") && shared_.contains(node.input(0))) {
        *out_.add_node() = node;
        shared_.insert(node.output(0));
      } else if (!elsewhere || !IsBlocked(node, "ReorderOutput") ||
                 !outputs.contains(node.output(0))) {
        repeated_.push_back(&node);
        read_.insert(node.input().begin(), node.input().end());
      }
    }
  }

  bool has_nodes() const { return !repeated_.empty(); }

  void AddCopy(int copy) {
    Names added;
    for (const NodeProto* node : repeated_) {
      AddNode(*node, copy);
      for (const std::string& input : node->input()) {
        const auto found = initializers_.find(input);
        if (found == initializers_.end() || !added.insert(input).second) continue;
        TensorProto& tensor = *out_.add_initializer();
        tensor = *found->second;
        tensor.set_name(Renamed(input, copy));
      }
    }
  }

  // Has a Shape read each result of a copy.
  void FreeResults(int copy) {
    for (const std::string& result : Results(copy)) {
      NodeProto& reader = *out_.add_node();
      reader.set_name(absl::StrCat("node", out_.node_size()));
      reader.set_op_type("Shape");
      reader.add_input(result);
      reader.add_output(absl::StrCat("shape of ", result));
    }
  }

  // All nodes run whatever the outputs are, but a model needs one.
  void AddOutputs(int copy) {
    for (const std::string& result : Results(copy)) out_.add_output()->set_name(result);
  }

 private:
  // What a copy computes and none of its nodes reads.
  std::vector<std::string> Results(int copy) const {
    std::vector<std::string> results;
    for (const NodeProto* node : repeated_) {
      for (const std::string& output : node->output()) {
        if (!output.empty() && !read_.contains(output)) results.push_back(Renamed(output, copy));
      }
    }
    return results;
  }

  std::string Renamed(const std::string& name, int copy) const {
    return name.empty() || shared_.contains(name) ? name : absl::StrCat(name, "__", copy);
  }

  void AddNode(const NodeProto& node, int copy) {
    NodeProto& added = *out_.add_node();
    added = node;
    added.set_name(absl::StrCat("node", out_.node_size()));
    for (std::string& input : *added.mutable_input()) input = Renamed(input, copy);
    for (std::string& output : *added.mutable_output()) output = Renamed(output, copy);
  }

  GraphProto& out_;
  absl::flat_hash_map<std::string, const TensorProto*> initializers_;
  Names shared_;                            // Values that are there once.
  Names read_;                              // By nodes of repeated_.
  std::vector<const NodeProto*> repeated_;  // In order.
};

// The operators of ONNX itself have a version in the model.
void ImportOnnx(ModelProto& model) {
  constexpr int kOpset = 13;
  for (const auto& import : model.opset_import()) {
    if (import.domain().empty() || import.domain() == "ai.onnx") return;
  }
  model.add_opset_import()->set_version(kOpset);
}

}  // namespace

absl::StatusOr<RepeatedModel> RepeatNodes(absl::string_view model, int copies, Borders borders,
                                          Memory memory) {
  ModelProto source;
  if (!source.ParseFromArray(model.data(), static_cast<int>(model.size()))) {
    return absl::InvalidArgumentError("the bytes are no model");
  }
  ModelProto out;
  out.set_ir_version(source.ir_version());
  *out.mutable_opset_import() = source.opset_import();
  out.mutable_graph()->set_name(source.graph().name());
  *out.mutable_graph()->mutable_input() = source.graph().input();
  Repeater repeater(source.graph(), borders, out.mutable_graph());
  if (!repeater.has_nodes()) return absl::NotFoundError("the model has nothing to do");
  if (memory == Memory::kFreed) ImportOnnx(out);
  for (int copy = 0; copy < copies; ++copy) {
    repeater.AddCopy(copy);
    if (memory == Memory::kFreed) repeater.FreeResults(copy);
  }
  repeater.AddOutputs(/*copy=*/0);
  RepeatedModel repeated{out.SerializeAsString(), {}};
  for (const ValueInfoProto& output : out.graph().output())
    repeated.outputs.push_back(output.name());
  return repeated;
}

}  // namespace quotient::onnx
