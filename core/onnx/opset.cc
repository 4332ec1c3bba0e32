#include "core/onnx/opset.h"

#include <algorithm>
#include <map>
#include <optional>
#include <set>

#include "absl/strings/str_cat.h"
#include "core/base/log.h"
#include "core/base/status_macros.h"
#include "core/onnx/errors.h"
#include "core/onnx/schema.h"

namespace quotient::onnx {
namespace {

using Imports = google::protobuf::RepeatedPtrField<::onnx::OperatorSetIdProto>;
using Nodes = google::protobuf::RepeatedPtrField<NodeProto>;

absl::StatusOr<std::map<std::string, int64_t>> ReadImports(const Imports& imports,
                                                           absl::string_view where) {
  std::map<std::string, int64_t> versions;
  for (const auto& import : imports) {
    const std::string domain(CanonicalDomain(import.domain()));
    const auto [first, is_new] = versions.emplace(domain, import.version());
    if (!is_new && first->second != import.version()) {
      return ErrorAt(Reason::kOpsetUnknown, where,
                     absl::StrCat("imports domain '", Escaped(domain), "' in versions ",
                                  first->second, " and ", import.version()));
    }
    const bool is_default = domain.empty();
    if (is_default && (import.version() < 1 || import.version() > NewestOpset())) {
      return ErrorAt(
          Reason::kOpsetUnknown, where,
          absl::StrCat("opset ", import.version(), ", understood are 1 to ", NewestOpset()));
    }
  }
  return versions;
}

// Calls visit(node) for all nodes, including those in subgraphs. The scan has bounded the depth.
template <typename Visit>
void ForEachNode(const Nodes& nodes, const Visit& visit) {
  for (const NodeProto& node : nodes) {
    visit(node);
    for (const AttributeProto& attribute : node.attribute()) {
      if (attribute.has_g()) ForEachNode(attribute.g().node(), visit);
      for (const GraphProto& graph : attribute.graphs()) ForEachNode(graph.node(), visit);
    }
  }
}

// Operators of other domains are opaque, whether their domain was imported or not.
bool UsesDefaultDomain(const Nodes& nodes) {
  bool uses = false;
  ForEachNode(nodes,
              [&uses](const NodeProto& node) { uses |= CanonicalDomain(node.domain()).empty(); });
  return uses;
}

// Returns an opaque operator that means something else at the opset `raised`. Null if none does.
const std::string* Keeping(const Skeleton& skeleton, int raised) {
  const auto found = std::ranges::find_if(skeleton.opaque_ops, [raised](const auto& op) {
    return !KeepsMeaning(op.first, op.second, raised);
  });
  return found == skeleton.opaque_ops.end() ? nullptr : &found->first;
}

}  // namespace

absl::StatusOr<int> CheckOpsets(const ModelProto& model) {
  QUOTIENT_ASSIGN_OR_RETURN(const auto imports, ReadImports(model.opset_import(), "model"));
  const auto check = [](const Nodes& nodes, const auto& known, absl::string_view where) {
    if (known.contains("") || !UsesDefaultDomain(nodes)) return absl::OkStatus();
    return ErrorAt(Reason::kOpsetUnknown, where,
                   "uses operators of the default domain without importing it");
  };
  QUOTIENT_RETURN_IF_ERROR(check(model.graph().node(), imports, "model"));
  for (const FunctionProto& function : model.functions()) {
    const std::string where = absl::StrCat("function '", Escaped(function.name()), "'");
    QUOTIENT_ASSIGN_OR_RETURN(auto own, ReadImports(function.opset_import(), where));
    own.insert(imports.begin(), imports.end());  // Domains it does not import itself.
    QUOTIENT_RETURN_IF_ERROR(check(function.node(), own, where));
  }
  const auto version = imports.find("");
  return version == imports.end() ? 0 : static_cast<int>(version->second);
}

std::vector<std::pair<std::string, int>> OpaqueOperators(const model::Graph& graph,
                                                         const Skeleton& skeleton) {
  std::set<std::pair<std::string, int>> operators;
  const auto collect = [&operators](const Nodes& nodes, int opset) {
    ForEachNode(nodes, [&](const NodeProto& node) {
      if (CanonicalDomain(node.domain()).empty()) operators.emplace(node.op_type(), opset);
    });
  };
  for (const model::Node& node : graph.nodes) {
    if (!node.is_opaque() || node.opaque->kind != model::Opaque::Kind::kNode) continue;
    GraphProto holder;
    if (holder.add_node()->ParseFromString(node.opaque->proto)) {
      collect(holder.node(), skeleton.opset);
    }
  }
  for (const FunctionProto& function : skeleton.proto.functions()) {
    int opset = skeleton.opset;
    for (const auto& import : function.opset_import()) {
      if (CanonicalDomain(import.domain()).empty()) opset = static_cast<int>(import.version());
    }
    collect(function.node(), opset);
  }
  return {operators.begin(), operators.end()};
}

int HighestOpset(const Skeleton& skeleton, int max_opset) {
  int opset = skeleton.opset;
  if (opset == 0) return 0;
  while (opset < std::min(max_opset, NewestOpset()) && Keeping(skeleton, opset + 1) == nullptr) {
    ++opset;
  }
  return opset;
}

std::string OperatorThatKeepsOpset(const Skeleton& skeleton, int max_opset) {
  const int highest = HighestOpset(skeleton, max_opset);
  if (highest == 0 || highest >= std::min(max_opset, NewestOpset())) return "";
  return *Keeping(skeleton, highest + 1);
}

}  // namespace quotient::onnx
