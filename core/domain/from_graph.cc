#include <algorithm>
#include <utility>

#include "absl/strings/str_cat.h"
#include "core/base/reason.h"
#include "core/base/status_macros.h"
#include "core/domain/slices.h"
#include "core/domain/steps.h"
#include "core/domain/tensor_egraph.h"
#include "core/ops/window.h"

namespace quotient::domain {
namespace {

class Importer {
 public:
  Importer(const model::Graph& graph, const model::Graph& measured,
           std::unique_ptr<TensorDomain> domain)
      : graph_(graph), measured_(measured), live_(model::LiveNodes(graph)) {
    result_.original = graph;
    result_.domain = std::move(domain);
    result_.egraph = std::make_unique<EGraph>(result_.domain.get(), result_.domain.get());
    result_.egraph->RecordProofs();
    result_.egraph->KeepHash();
    result_.class_of_value.resize(graph.values.size());
  }

  absl::StatusOr<TensorEGraph> Run() && {
    FindUsedOutputs();
    for (size_t i = 0; i < graph_.inputs.size(); ++i) {
      const model::ValueId value = graph_.inputs[i];
      const OpId word = result_.domain->Input(static_cast<uint32_t>(i), TypesOf(value));
      QUOTIENT_ASSIGN_OR_RETURN(ClassOf(value), result_.egraph->Add(word, {}));
    }
    for (size_t i = 0; i < graph_.nodes.size(); ++i) {
      if (!live_[i]) continue;
      const model::NodeId node(static_cast<uint32_t>(i));
      QUOTIENT_RETURN_IF_ERROR(
          Annotate(ImportNode(node), absl::StrCat("node ", i, " '", graph_.node(node).name, "'")));
    }
    for (const model::ValueId output : graph_.outputs) {
      QUOTIENT_ASSIGN_OR_RETURN(const ClassId root, Operand(output));
      result_.roots.push_back(root);
      result_.domain->DeclareOutput(*result_.egraph, root);
    }
    QUOTIENT_RETURN_IF_ERROR(result_.egraph->Rebuild());
    RecordENodes();
    DeclareSteps();
    return std::move(result_);
  }

 private:
  TypePair TypesOf(model::ValueId value) const {
    return {graph_.value(value).type, measured_.value(value).type};
  }
  ClassId& ClassOf(model::ValueId value) { return result_.class_of_value[value.value()]; }

  void FindUsedOutputs() {
    used_.resize(graph_.values.size());
    for (size_t i = 0; i < graph_.nodes.size(); ++i) {
      if (!live_[i]) continue;
      for (const model::ValueId input : graph_.nodes[i].inputs) {
        if (input.valid()) used_[input.value()] = true;
      }
    }
    for (const model::ValueId output : graph_.outputs) used_[output.value()] = true;
  }

  // The class of a value that a node reads. Constants are added when they are first read.
  absl::StatusOr<ClassId> Operand(model::ValueId value) {
    if (!value.valid()) return result_.egraph->Add(result_.domain->Absent(), {});
    ClassId& cls = ClassOf(value);
    if (cls.valid()) return cls;
    const model::Value& row = graph_.value(value);
    if (!row.constant.has_value()) {
      return MakeError(Reason::kInternal, absl::StrCat("value '", row.name, "' has no producer"));
    }
    QUOTIENT_ASSIGN_OR_RETURN(cls,
                              result_.egraph->Add(result_.domain->Constant(*row.constant), {}));
    return cls;
  }

  absl::StatusOr<std::vector<ClassId>> Operands(const model::Node& node) {
    std::vector<ClassId> operands;
    for (const model::ValueId input : node.inputs) {
      QUOTIENT_ASSIGN_OR_RETURN(operands.emplace_back(), Operand(input));
    }
    return operands;
  }

  absl::Status ImportNode(model::NodeId id) {
    const model::Node& node = graph_.node(id);
    QUOTIENT_ASSIGN_OR_RETURN(const std::vector<ClassId> operands, Operands(node));
    // A node that cannot be computed cannot be checked or timed either, so it stays as it is.
    if (model::IsComputable(measured_, measured_.node(id)) && ops::FindOp(node.op) != nullptr) {
      if (node.op == "Split") {
        if (const auto sizes = SplitSizes(node)) return ImportSplit(id, operands[0], *sizes);
      } else if (OnlyFirstOutputUsed(node) && ImportOperator(id, operands).ok()) {
        return absl::OkStatus();
      }
    }
    return ImportOpaque(id, operands);
  }

  bool OnlyFirstOutputUsed(const model::Node& node) const {
    for (size_t i = 1; i < node.outputs.size(); ++i) {
      if (node.outputs[i].valid() && used_[node.outputs[i].value()]) return false;
    }
    return !node.outputs.empty() && node.outputs[0].valid();
  }

  // Fails if inference refuses the node, which is then imported as an opaque one.
  absl::Status ImportOperator(model::NodeId id, std::vector<ClassId> operands) {
    const model::Node& node = graph_.node(id);
    while (!operands.empty() && Absent(operands.back())) operands.pop_back();
    CanonicalOrder(*ops::FindOp(node.op), operands);
    result_.domain->AllowOperator(node.op);
    if (node.op == "Conv") DeclareSizesOfConv(node);
    const OpId word = result_.domain->Operator(node.op, node.attributes);
    QUOTIENT_ASSIGN_OR_RETURN(const ClassId cls, result_.egraph->Add(word, operands));
    Record(cls, {id, 0});
    return absl::OkStatus();
  }

  // A Conv fails if its window has no place, so a model that has run has an element wherever one of
  // its Convs needs one, and each Conv has computed some.
  void DeclareSizesOfConv(const model::Node& node) {
    constexpr int kFirstSpatial = 2;
    const model::TensorType& input = graph_.value(node.inputs[0]).type;
    const model::TensorType& weight = graph_.value(node.inputs[1]).type;
    const model::TensorType& output = graph_.value(node.outputs[0]).type;
    if (!input.has_rank() || !output.has_rank() || !weight.is_static()) return;
    for (int axis = kFirstSpatial; axis < output.rank(); ++axis) {
      result_.domain->DeclareNotEmpty(output.dim(axis));
    }
    const std::vector<model::Dim> spatial(input.shape->begin() + kFirstSpatial, input.shape->end());
    const std::vector<int64_t> dims = weight.dims();
    const auto window = ops::ReadWindow(
        node.attributes, model::Ints(dims.begin() + kFirstSpatial, dims.end()), spatial);
    if (!window.ok()) return;
    for (size_t axis = 0; axis < window->axes(); ++axis) {
      if (window->Extent(axis) > window->Padding(axis)) {
        result_.domain->DeclareNotEmpty(spatial[axis]);
      }
    }
  }

  bool Absent(ClassId cls) const { return result_.domain->data(*result_.egraph, cls).absent; }

  // Rules expect the constant operand of a commutative operator on the right.
  void CanonicalOrder(const ops::OpDef& def, std::vector<ClassId>& operands) const {
    if (!def.commutative || operands.size() != 2) return;
    const auto weight_only = [&](ClassId cls) {
      return result_.domain->data(*result_.egraph, cls).weight_only;
    };
    if (weight_only(operands[0]) && !weight_only(operands[1])) std::swap(operands[0], operands[1]);
  }

  // The sizes of the parts along the split axis; nullopt if the axis has no static size.
  struct SplitParts {
    int64_t axis;
    std::vector<int64_t> sizes;
  };
  std::optional<SplitParts> SplitSizes(const model::Node& node) const {
    const model::TensorType& input = graph_.value(node.inputs[0]).type;
    if (!input.has_rank()) return std::nullopt;
    SplitParts parts{.axis = node.attributes.GetInt("axis", 0), .sizes = {}};
    if (parts.axis < 0) parts.axis += input.rank();
    if (parts.axis < 0 || parts.axis >= input.rank()) return std::nullopt;
    if (!input.dim(parts.axis).is_number()) return std::nullopt;
    int64_t total = 0;
    for (const model::ValueId output : node.outputs) {
      if (!output.valid()) return std::nullopt;
      const model::TensorType& type = graph_.value(output).type;
      if (!type.has_rank() || type.rank() != input.rank()) return std::nullopt;
      if (!type.dim(parts.axis).is_number()) return std::nullopt;
      parts.sizes.push_back(type.dim(parts.axis).number());
      total += parts.sizes.back();
    }
    if (total != input.dim(parts.axis).number()) return std::nullopt;
    return parts;
  }

  absl::Status ImportSplit(model::NodeId id, ClassId operand, const SplitParts& parts) {
    const model::Node& node = graph_.node(id);
    result_.domain->AllowOperator("Slice");
    int64_t begin = 0;
    for (size_t i = 0; i < node.outputs.size(); ++i) {
      const int64_t end = begin + parts.sizes[i];
      const ClassId children[] = {operand};
      QUOTIENT_ASSIGN_OR_RETURN(
          const ClassId cls,
          result_.domain->Add(*result_.egraph, "Slice", SliceAttributes({parts.axis, begin, end}),
                              children, egraph::kInputOrigin));
      Record(cls, {id, static_cast<int>(i)});
      begin = end;
    }
    return absl::OkStatus();
  }

  absl::Status ImportOpaque(model::NodeId id, const std::vector<ClassId>& operands) {
    const model::Node& node = graph_.node(id);
    const std::string name = node.is_opaque() ? node.opaque->op : node.op;
    QUOTIENT_ASSIGN_OR_RETURN(
        const ClassId tuple,
        result_.egraph->Add(result_.domain->OpaqueNode(id.value(), name), operands));
    refs_.emplace_back(tuple, OriginalRef{id, 0});
    for (size_t i = 0; i < node.outputs.size(); ++i) {
      if (!node.outputs[i].valid()) continue;
      const OpId word = result_.domain->OpaqueOutput(id.value(), static_cast<uint32_t>(i),
                                                     TypesOf(node.outputs[i]));
      const ClassId children[] = {tuple};
      QUOTIENT_ASSIGN_OR_RETURN(const ClassId cls, result_.egraph->Add(word, children));
      Record(cls, {id, static_cast<int>(i)});
    }
    return absl::OkStatus();
  }

  // Records that `cls` is the given output of an original node.
  void Record(ClassId cls, OriginalRef ref) {
    const model::ValueId value = graph_.node(ref.node).outputs[ref.output];
    ClassOf(value) = cls;
    result_.domain->Declare(*result_.egraph, cls, TypesOf(value));
    refs_.emplace_back(cls, ref);
  }

  // There has been no union, so every class has one e-node. If several nodes are equal, the first
  // names the e-node.
  void RecordENodes() {
    result_.original_of_enode.resize(result_.egraph->enode_bound());
    for (const auto& [cls, ref] : refs_) {
      OriginalRef& slot = result_.original_of_enode[result_.egraph->nodes(cls).front().value()];
      if (!slot.node.valid()) slot = ref;
    }
  }

  void DeclareSteps() {
    const std::vector<bool> read_by_step = ReadBySteps(graph_);
    for (size_t i = 0; i < read_by_step.size(); ++i) {
      const ClassId cls = result_.class_of_value[i];
      if (cls.valid()) result_.domain->DeclareSteps(*result_.egraph, cls, read_by_step[i]);
    }
  }

  const model::Graph& graph_;
  const model::Graph& measured_;
  const std::vector<bool> live_;
  std::vector<bool> used_;  // By ValueId: read by a live node, or a graph output.
  std::vector<std::pair<ClassId, OriginalRef>> refs_;
  TensorEGraph result_;
};

// Whether nothing runs for an operator, given that its operands are all weights.
bool IsFoldable(const ENodeDescription& description) {
  std::vector<const model::TensorType*> inputs;
  for (const ENodeOperand& input : description.inputs) {
    inputs.push_back(input.present ? &input.measured : nullptr);
  }
  return !TakesTooLongToFold(*description.word, inputs, description.output.measured);
}

}  // namespace

std::vector<ClassId> TensorEGraph::CanonicalRoots() const {
  std::vector<ClassId> canonical;
  canonical.reserve(roots.size());
  for (const ClassId root : roots) canonical.push_back(egraph->Find(root));
  return canonical;
}

absl::StatusOr<TensorEGraph> FromGraph(const model::Graph& graph, const model::Graph& measured,
                                       bool assume_finite_inputs, const TensorDomain* other) {
  if (graph.nodes.size() != measured.nodes.size() ||
      graph.values.size() != measured.values.size()) {
    return MakeError(Reason::kInternal, "the graph and its measured form differ");
  }
  return Importer(graph, measured, std::make_unique<TensorDomain>(assume_finite_inputs, other))
      .Run();
}

ENodeDescription Describe(const TensorEGraph& tensors, ENodeId enode) {
  const EGraph& graph = *tensors.egraph;
  const auto node = graph.node(enode);
  ENodeDescription description;
  description.word = &tensors.domain->word(node.op);
  const auto describe = [&](ClassId cls) {
    const ClassData& data = tensors.domain->data(graph, cls);
    return ENodeOperand{!data.absent, data.measured, data.runs_as_constant()};
  };
  for (const ClassId child : node.children) description.inputs.push_back(describe(child));
  description.output = describe(graph.class_of(enode));
  const OpWord::Sort sort = description.word->sort;
  description.free = sort != OpWord::Sort::kOperator && sort != OpWord::Sort::kOpaque;
  if (sort == OpWord::Sort::kOperator) {
    // The e-node itself must fold, not only another one of its class.
    const bool of_weights = std::ranges::all_of(node.children, [&](ClassId child) {
      const ClassData& data = tensors.domain->data(graph, child);
      return data.absent || data.weight_only;
    });
    description.free = of_weights && IsFoldable(description);
  }
  return description;
}

}  // namespace quotient::domain
