#include "core/onnx/function_table.h"

#include "absl/container/flat_hash_set.h"
#include "absl/strings/match.h"
#include "absl/strings/string_view.h"
#include "core/onnx/schema.h"

namespace quotient::onnx {
namespace {

// Far above all limits, and far below what overflows when two are added.
constexpr int64_t kMost = int64_t{1} << 60;

// Runtimes prefer their own operators to a function of the same name.
bool RuntimesImplement(absl::string_view domain) {
  return domain.empty() || absl::StartsWith(domain, "ai.onnx") ||
         absl::StartsWith(domain, "com.microsoft") || absl::StartsWith(domain, "com.ms.");
}

}  // namespace

// --- Growth ---

int64_t FunctionGrowth::Sum(int64_t a, int64_t b) { return std::min(a + b, kMost); }

void FunctionGrowth::Places::Add(const Places& more) {
  count = Sum(count, more.count);
  Admit(more.largest);
}

int64_t FunctionGrowth::Places::Bytes() const {
  return largest == 0 || count <= kMost / largest ? count * largest : kMost;
}

int64_t FunctionGrowth::bytes() const {
  return Sum(bytes_, Sum(attributes_.Bytes(), names_.Bytes()));
}

void FunctionGrowth::Add(const FunctionGrowth& callee) {
  nodes_ = Sum(nodes_, callee.nodes_);
  bytes_ = Sum(bytes_, callee.bytes_);
  attributes_.Add(callee.attributes_);
  names_.Add(callee.names_);
}

// Recursion is as deep as subgraphs are nested, which the scan has bounded.
void FunctionGrowth::CountPlaces(const NodeProto& node) {
  names_.count += node.input_size() + node.output_size();
  for (const AttributeProto& attribute : node.attribute()) {
    if (!attribute.ref_attr_name().empty()) ++attributes_.count;
    if (attribute.has_g()) CountPlaces(attribute.g());
    for (const GraphProto& graph : attribute.graphs()) CountPlaces(graph);
  }
}

void FunctionGrowth::CountPlaces(const GraphProto& graph) {
  names_.count += graph.input_size() + graph.output_size();
  for (const NodeProto& node : graph.node()) CountPlaces(node);
}

void FunctionGrowth::AdmitCall(const NodeProto& call) {
  for (const AttributeProto& attribute : call.attribute()) AdmitAttribute(attribute);
  for (const std::string& name : call.input()) names_.Admit(std::ssize(name));
  for (const std::string& name : call.output()) names_.Admit(std::ssize(name));
}

void FunctionGrowth::AdmitAttribute(const AttributeProto& attribute) {
  attributes_.Admit(static_cast<int64_t>(attribute.ByteSizeLong()));
}

// --- Table ---

FunctionTable::FunctionTable(int opset, const ModelProto& model) : opset_(opset) {
  for (const auto& import : model.opset_import()) {
    imports_[std::string(CanonicalDomain(import.domain()))] = import.version();
  }
  for (const FunctionProto& function : model.functions()) {
    entries_[FunctionKeyOf(function)].function.proto = &function;
  }
  for (auto& [key, entry] : entries_) Measure(entry);
}

const InlinableFunction* FunctionTable::Find(const NodeProto& call) const {
  const auto found = entries_.find(CalleeKey(call));
  if (found == entries_.end()) return nullptr;
  const Entry& entry = found->second;
  const bool fits = call.input_size() <= entry.function.proto->input_size() &&
                    call.output_size() <= entry.function.proto->output_size();
  return entry.may_inline && entry.is_worth_it && fits ? &entry.function : nullptr;
}

// Recursion is as deep as calls are nested, which CheckStructure has bounded.
void FunctionTable::Measure(Entry& entry) {
  if (entry.is_measured) return;
  entry.is_measured = true;
  const FunctionProto& proto = *entry.function.proto;
  entry.may_inline = MayInline(proto);
  FunctionGrowth& growth = entry.function.growth;
  growth.AddBytes(1 + static_cast<int64_t>(proto.ByteSizeLong()));
  for (const AttributeProto& attribute : proto.attribute_proto()) growth.AdmitAttribute(attribute);
  for (const NodeProto& node : proto.node()) {
    growth.CountPlaces(node);
    const auto callee = entries_.find(CalleeKey(node));
    if (callee != entries_.end()) Measure(callee->second);
    if (const InlinableFunction* const inlined = Find(node)) {
      growth.AdmitCall(node);
      growth.Add(inlined->growth);
      entry.is_worth_it = true;
    } else {
      growth.AddNode();
      entry.is_worth_it |= CanonicalDomain(node.domain()).empty();
    }
  }
}

bool FunctionTable::MayInline(const FunctionProto& function) {
  if (RuntimesImplement(CanonicalDomain(function.domain()))) return false;
  // An output that is an input, or the same as another one, would need nodes of its own.
  absl::flat_hash_set<absl::string_view> names(function.input().begin(), function.input().end());
  for (const std::string& output : function.output()) {
    if (!names.insert(output).second) return false;
  }
  int function_opset = opset_;
  for (const auto& import : function.opset_import()) {
    const std::string domain(CanonicalDomain(import.domain()));
    if (domain.empty()) {
      function_opset = static_cast<int>(import.version());
      continue;
    }
    // Functions that come first decide where the model itself says nothing.
    if (imports_.emplace(domain, import.version()).first->second != import.version()) return false;
  }
  return opset_ > 0 && MeansTheSame(function.node(), function_opset);
}

// Recursion is as deep as subgraphs are nested, which the scan has bounded.
bool FunctionTable::MeansTheSame(const google::protobuf::RepeatedPtrField<NodeProto>& nodes,
                                 int function_opset) const {
  const auto same = [&](const GraphProto& graph) {
    return MeansTheSame(graph.node(), function_opset);
  };
  for (const NodeProto& node : nodes) {
    if (CanonicalDomain(node.domain()).empty() &&
        !SameMeaning(node.op_type(), function_opset, opset_)) {
      return false;
    }
    for (const AttributeProto& attribute : node.attribute()) {
      if (attribute.has_g() && !same(attribute.g())) return false;
      if (!std::all_of(attribute.graphs().begin(), attribute.graphs().end(), same)) return false;
    }
  }
  return true;
}

}  // namespace quotient::onnx
