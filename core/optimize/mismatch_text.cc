#include "core/optimize/mismatch_text.h"

#include <algorithm>
#include <variant>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "core/base/counted.h"
#include "core/domain/selection.h"
#include "core/egraph/pattern_text.h"
#include "core/egraph/ranges.h"
#include "core/optimize/listing.h"

namespace quotient::optimize {
namespace {

using domain::OpWord;
using egraph::ClassId;
using egraph::ENodeId;
using egraph::Instruction;

std::string Quoted(absl::string_view name) { return absl::StrCat("'", name, "'"); }

// The value of a scalar constant: " 0.5". Empty for others, since a report must not carry weights,
// and for strings.
std::string ScalarText(const model::Tensor& tensor) {
  if (tensor.elements() != 1 || !model::IsComputable(tensor.dtype())) return "";
  return absl::StrCat(" ", tensor.GetDouble(0));
}

// The attributes without tensors and lists of floats, which may be weights, too. "" if there are
// none.
std::string AttributesText(const model::AttributeMap& attributes) {
  model::AttributeMap shown;
  for (const auto& [name, value] : attributes) {
    const bool may_be_weights = std::holds_alternative<model::Tensor>(value) ||
                                std::holds_alternative<model::Floats>(value);
    if (!may_be_weights) shown.Set(name, value);
  }
  return ToString(shown);
}

// "Transpose{perm=[1,0]}"
std::string WordText(const domain::TensorDomain& domain, egraph::OpId op) {
  const OpWord& word = domain.word(op);
  if (word.sort != OpWord::Sort::kOperator) return domain.Name(op);
  return absl::StrCat(word.name, AttributesText(word.attributes));
}

std::string AsOperand(uint32_t position) { return absl::StrCat("operand ", position + 1); }

}  // namespace

ENodeText::ENodeText(const domain::TensorEGraph& tensors,
                     std::span<const egraph::Rule* const> rules)
    : tensors_(tensors), rules_(rules), names_(graph_.class_bound()) {
  for (uint32_t i = 0; i < tensors.class_of_value.size(); ++i) {
    const ClassId cls = tensors.class_of_value[i];
    if (!cls.valid()) continue;
    std::string& name = names_[graph_.Find(cls).value()];
    if (name.empty()) name = tensors.original.values[i].name;
  }
}

std::string ENodeText::Name(ClassId id) const {
  const ClassId cls = graph_.Find(id);
  if (tensors_.domain->data(graph_, cls).absent) return "an operand that is left out";
  const std::string& name = names_[cls.value()];
  return name.empty() ? "a new value" : Quoted(name);
}

std::string ENodeText::Typed(ClassId id) const {
  const domain::ClassData& data = tensors_.domain->data(graph_, id);
  if (data.absent) return "an operand that is left out";
  std::string text = absl::StrCat(Name(id), ": ", ToString(data.type));
  if (data.constant.has_value()) {
    absl::StrAppend(&text, ", constant", ScalarText(*data.constant));
  } else if (data.weight_only) {
    absl::StrAppend(&text, ", computed from constants");
  } else {
    absl::StrAppend(&text, ", computed from inputs");
  }
  for (const ENodeId node : graph_.nodes(graph_.Find(id))) {
    const OpWord& word = tensors_.domain->word(graph_.node(node).op);
    if (word.sort != OpWord::Sort::kInput) continue;
    const bool has_default = tensors_.original.defaults[word.index].has_value();
    return absl::StrCat(
        Name(id), ": ", ToString(data.type), ", an input",
        has_default ? " with a default (--freeze-initializers makes it constant)" : "");
  }
  return text;
}

std::string ENodeText::Of(ENodeId node) const {
  const OpWord& word = tensors_.domain->word(graph_.node(node).op);
  const domain::OriginalRef ref = tensors_.Original(node);
  if (word.sort == OpWord::Sort::kConstant) return "a constant";
  if (word.sort == OpWord::Sort::kInput) return "an input of the model";
  if (ref.node.valid()) {
    return absl::StrCat(word.name, " ", Quoted(domain::SiteName(tensors_, ref.node)));
  }
  const egraph::Origin origin = graph_.origin(node);
  if (origin == egraph::kInputOrigin || origin > rules_.size()) return word.name;
  return absl::StrCat(word.name, " (made by ", rules_[origin - 1]->name(), ")");
}

std::string ENodeText::InDetail(ENodeId node) const {
  const egraph::ENodeView view = graph_.node(node);
  const OpWord& word = tensors_.domain->word(view.op);
  const std::string attributes = AttributesText(word.attributes);
  return absl::StrCat(Of(node), attributes.empty() ? "" : " ", attributes, " with ",
                      Counted(std::ssize(view.children), "operand"));
}

std::string ENodeText::MadeBy(ClassId id) const {
  Listing makers;
  for (const ENodeId node : graph_.nodes(graph_.Find(id))) {
    makers.Add([&] { return InDetail(node); });
  }
  return absl::StrCat(Name(id), " is ", makers.Text("made by nothing"));
}

std::string ENodeText::ReadBy(ClassId id) const {
  const ClassId cls = graph_.Find(id);
  Listing readers;
  graph_.store().ForEachUse(cls, [&](ENodeId node, uint32_t position) {
    if (!graph_.live(node)) return;
    readers.Add([&] { return absl::StrCat(InDetail(node), " as ", AsOperand(position)); });
  });
  const bool is_output =
      std::ranges::any_of(tensors_.roots, [&](ClassId root) { return graph_.Find(root) == cls; });
  return absl::StrCat(Name(id), " is read by ", readers.Text("nothing"),
                      is_output ? ", and is an output of the model" : "");
}

std::string ENodeText::Missing(const egraph::NearMatch& near) const {
  const egraph::NearMatch::Missing& missing = *near.missing;
  const std::string wanted = ToText(*missing.term);
  const std::string exactly =
      missing.op.valid()
          ? absl::StrCat(", with the attributes of ", WordText(*tensors_.domain, missing.op))
          : "";
  switch (missing.step.code) {
    case Instruction::Code::kUp:
      return absl::StrCat("expected ", wanted, exactly, " to read ", Name(missing.in), " as ",
                          AsOperand(missing.step.position), ", but ", ReadBy(missing.in));
    case Instruction::Code::kSameClass:
      return absl::StrCat("expected ", wanted,
                          " to be the same value in both places, but there are ",
                          Name(missing.other), " and ", Name(missing.in));
    case Instruction::Code::kScan:
    case Instruction::Code::kDown:
    case Instruction::Code::kScanClasses:
    case Instruction::Code::kGuard:
      break;
  }
  return absl::StrCat("expected ", wanted, exactly, " to make ", Name(missing.in), ", but ",
                      MadeBy(missing.in));
}

std::string ENodeText::Argument(const egraph::RefusedGuard::Argument& argument, char sort) const {
  if (sort == 'o') return WordText(*tensors_.domain, argument.op);
  if (sort == 'c') return Typed(argument.id);
  Listing items;
  for (const ClassId id : argument.list) {
    items.Add([&] { return Typed(id); });
  }
  return absl::StrCat("(", items.Text(""), ")");
}

std::string ENodeText::Refusal(const egraph::NearMatch& near,
                               const egraph::RefusedGuard& refused) const {
  const egraph::GuardText& text = near.program->text->guards[refused.guard];
  const std::string& signature = near.program->guards[refused.guard].guard.signature;
  std::vector<std::string> arguments;
  for (size_t i = 0; i < refused.arguments.size(); ++i) {
    if (signature[i] == 't') continue;
    arguments.push_back(absl::StrCat(ToText(text.arguments[i]), " is ",
                                     Argument(refused.arguments[i], signature[i])));
  }
  return absl::StrCat(ToText(text), " does not hold: ", absl::StrJoin(arguments, "; "));
}

std::vector<std::string> ENodeText::Found(const egraph::NearMatch& near) const {
  std::vector<std::string> lines;
  for (const egraph::NearMatch::Found& found : near.found) {
    lines.push_back(absl::StrCat("found ", ToText(*found.term), " at ", Of(found.enode)));
  }
  return lines;
}

std::string LeftText(const egraph::Program& program) {
  std::vector<std::string> roots;
  for (const std::vector<egraph::Term>& root : program.text->left) {
    roots.push_back(absl::StrJoin(root, " = ", [](std::string* out, const egraph::Term& term) {
      absl::StrAppend(out, ToText(term));
    }));
  }
  return absl::StrJoin(roots, ", ");
}

}  // namespace quotient::optimize
