#include "absl/strings/ascii.h"
#include "absl/strings/escaping.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "core/model/text.h"

namespace quotient::model {
namespace {

bool IsPlainName(absl::string_view name) {
  if (name.empty() || name == "_" || absl::ascii_isdigit(name[0])) return false;
  for (char c : name) {
    if (!absl::ascii_isalnum(c) && c != '_' && c != '.' && c != '/' && c != '-') return false;
  }
  return true;
}

// Quotes names that are not plain.
std::string NameText(absl::string_view name) {
  if (IsPlainName(name)) return std::string(name);
  return absl::StrCat("\"", absl::CEscape(name), "\"");
}

class Printer {
 public:
  Printer(const Graph& graph, int64_t inline_elements)
      : graph_(graph), inline_elements_(inline_elements) {}

  std::string Print() {
    absl::StrAppend(&text_, "graph ", NameText(graph_.name.empty() ? "g" : graph_.name), " {\n");
    PrintInputs();
    for (const Value& value : graph_.values) {
      if (value.constant.has_value()) PrintTensor("const", value, *value.constant);
    }
    for (const Node& node : graph_.nodes) PrintNode(node);
    absl::StrAppend(&text_, "  output ", Names(graph_.outputs), "\n}\n");
    return std::move(text_);
  }

 private:
  void PrintInputs() {
    for (size_t i = 0; i < graph_.inputs.size(); ++i) {
      const Value& value = graph_.value(graph_.inputs[i]);
      if (graph_.defaults[i].has_value()) {
        PrintTensor("input", value, *graph_.defaults[i]);
      } else {
        absl::StrAppend(&text_, "  input ", NameText(value.name), ": ", ToString(value.type), "\n");
      }
    }
  }

  void PrintTensor(absl::string_view keyword, const Value& value, const Tensor& tensor) {
    absl::StrAppend(&text_, "  ", keyword, " ", NameText(value.name), ": ", ToString(value.type),
                    " = ", ElementsText(tensor, inline_elements_), "\n");
  }

  std::string Name(ValueId id) const { return id.valid() ? NameText(graph_.value(id).name) : "_"; }

  std::string Names(const std::vector<ValueId>& ids) const {
    return absl::StrJoin(ids, ", ",
                         [this](std::string* out, ValueId id) { absl::StrAppend(out, Name(id)); });
  }

  std::string Outputs(const Node& node) const {
    if (node.outputs.size() != 1) return absl::StrCat("(", Names(node.outputs), ")");
    const ValueId id = node.outputs[0];
    if (!id.valid()) return "_";
    const TensorType& type = graph_.value(id).type;
    const bool known = type.dtype != DType::kUndefined || type.has_rank();
    return known ? absl::StrCat(Name(id), ": ", ToString(type)) : Name(id);
  }

  void PrintNode(const Node& node) {
    absl::StrAppend(&text_, "  ", Outputs(node), " = ", node.op);
    if (node.is_opaque()) absl::StrAppend(&text_, " \"", absl::CEscape(node.opaque->op), "\" ");
    absl::StrAppend(&text_, "(", Names(node.inputs), ")");
    if (!node.attributes.empty()) absl::StrAppend(&text_, " ", ToString(node.attributes));
    if (!node.name.empty()) absl::StrAppend(&text_, " @", NameText(node.name));
    absl::StrAppend(&text_, "\n");
  }

  const Graph& graph_;
  const int64_t inline_elements_;
  std::string text_;
};

}  // namespace

std::string PrintGraph(const Graph& graph, int64_t inline_elements) {
  return Printer(graph, inline_elements).Print();
}

}  // namespace quotient::model
