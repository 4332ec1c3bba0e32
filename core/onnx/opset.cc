#include "core/onnx/opset.h"

#include <algorithm>
#include <map>
#include <optional>
#include <set>

#include "absl/container/flat_hash_set.h"
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
    if (!versions.emplace(domain, import.version()).second) {
      return Malformed(where, absl::StrCat("imports domain '", Escaped(domain), "' twice"));
    }
    const bool is_default = domain.empty();
    if (is_default && (import.version() < kOldestOpset || import.version() > NewestOpset())) {
      return ErrorAt(Reason::kOpsetUnknown, where,
                     absl::StrCat("opset ", import.version(), ", understood are ", kOldestOpset,
                                  " to ", NewestOpset()));
    }
  }
  return versions;
}

// Calls visit(node) for nodes and those of their subgraphs; the depth was bounded by the scan.
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

absl::Status CheckDomains(const Nodes& nodes, const std::map<std::string, int64_t>& imports,
                          const absl::flat_hash_set<std::string>& function_domains,
                          absl::string_view where) {
  std::optional<std::string> missing;
  ForEachNode(nodes, [&](const NodeProto& node) {
    const std::string domain(CanonicalDomain(node.domain()));
    if (!imports.contains(domain) && !function_domains.contains(domain)) missing = domain;
  });
  if (!missing.has_value()) return absl::OkStatus();
  return Malformed(where, absl::StrCat("uses operators of domain '", Escaped(*missing),
                                       "' without importing it"));
}

}  // namespace

absl::StatusOr<int> CheckOpsets(const ModelProto& model) {
  QUOTIENT_ASSIGN_OR_RETURN(const auto imports, ReadImports(model.opset_import(), "model"));
  absl::flat_hash_set<std::string> function_domains;
  for (const FunctionProto& function : model.functions()) {
    function_domains.insert(std::string(CanonicalDomain(function.domain())));
  }
  QUOTIENT_RETURN_IF_ERROR(CheckDomains(model.graph().node(), imports, function_domains, "model"));
  for (const FunctionProto& function : model.functions()) {
    const std::string where = absl::StrCat("function '", Escaped(function.name()), "'");
    QUOTIENT_ASSIGN_OR_RETURN(auto own, ReadImports(function.opset_import(), where));
    own.insert(imports.begin(), imports.end());  // what it does not say itself
    QUOTIENT_RETURN_IF_ERROR(CheckDomains(function.node(), own, function_domains, where));
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
  const auto keeps_meaning = [&skeleton](int raised) {
    return std::all_of(
        skeleton.opaque_ops.begin(), skeleton.opaque_ops.end(),
        [raised](const auto& op) { return SameMeaning(op.first, op.second, raised); });
  };
  while (opset < std::min(max_opset, NewestOpset()) && keeps_meaning(opset + 1)) ++opset;
  return opset;
}

}  // namespace quotient::onnx
