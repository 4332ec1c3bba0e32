#include "core/kernels/kernel_spec.h"

#include <algorithm>
#include <bit>
#include <charconv>
#include <iterator>
#include <utility>

#include "absl/strings/str_cat.h"
#include "core/kernels/layout.h"
#include "core/kernels/view.h"

namespace quotient::kernels {
namespace {

// Appends ToString(type). A key is made for every lookup of a timing, so this does without strings
// in between.
void AppendType(const model::TensorType& type, std::string* text) {
  if (!type.is_static()) {
    *text += ToString(type);
    return;
  }
  absl::StrAppend(text, model::DTypeName(type.dtype), "[");
  for (const model::Dim& dim : *type.shape) {
    char digits[20];
    text->append(digits, std::to_chars(digits, std::end(digits), dim.number()).ptr);
    text->push_back(',');
  }
  if (text->back() == ',') text->pop_back();
  text->push_back(']');
}

void AppendOperands(const std::vector<Operand>& operands, std::string* text) {
  text->push_back('(');
  const char* separator = "";
  for (const Operand& operand : operands) {
    *text += separator;
    separator = ", ";
    if (operand.type.dtype == model::DType::kUndefined) {
      text->push_back('_');
      continue;
    }
    if (operand.constant) *text += "const ";
    AppendType(operand.type, text);
    if (operand.layout == Layout::kChannelsLast) *text += ":last";
  }
  text->push_back(')');
}

// If an activation is channels last, so is everything shaped like the output.
void TieLayouts(KernelSpec& spec) {
  if (!HasLayout(spec.outputs[0].type)) return;
  const int rank = spec.outputs[0].type.rank();
  const auto alike = [rank](const Operand& operand) {
    return HasLayout(operand.type) && operand.type.rank() == rank;
  };
  const auto is_last = [&](const Operand& input) {
    return alike(input) && input.layout == Layout::kChannelsLast;
  };
  if (std::ranges::none_of(spec.inputs, is_last)) return;
  for (std::vector<Operand>* operands : {&spec.inputs, &spec.outputs}) {
    for (Operand& operand : *operands) {
      if (alike(operand)) operand.layout = Layout::kChannelsLast;
    }
  }
}

}  // namespace

std::string KernelKey(const KernelSpec& spec) {
  std::string key;
  key.reserve(256);  // Most keys are shorter.
  absl::StrAppend(&key, "k1 ", spec.op, ToString(spec.attributes));
  AppendOperands(spec.inputs, &key);
  key += "->";
  AppendOperands(spec.outputs, &key);
  for (const Epilogue& epilogue : spec.epilogue) {
    absl::StrAppend(&key, " +", epilogue.running_is_second ? "~" : "", epilogue.op,
                    ToString(epilogue.attributes));
    AppendOperands(epilogue.operands, &key);
  }
  absl::StrAppend(&key, " threads=", spec.threads, " cold=", spec.constant_footprint_log2,
                  spec.storage == Storage::kNative ? " native" : "", spec.free ? " free" : "");
  return key;
}

std::vector<Operand> AllOperands(const KernelSpec& spec) {
  std::vector<Operand> all = spec.inputs;
  for (const Epilogue& epilogue : spec.epilogue) {
    all.insert(all.end(), epilogue.operands.begin(), epilogue.operands.end());
  }
  return all;
}

int FootprintLog2(int64_t constant_bytes) {
  constexpr int kMaxLog2 = 28;
  if (constant_bytes <= 1) return 0;
  return std::min(kMaxLog2,
                  static_cast<int>(std::bit_width(static_cast<uint64_t>(constant_bytes))) - 1);
}

KernelSpec MakeSpec(absl::string_view op, const model::AttributeMap& attributes,
                    std::vector<Operand> inputs, std::vector<model::TensorType> outputs,
                    int threads, int constant_footprint_log2, Storage storage) {
  KernelSpec spec;
  spec.op = std::string(op);
  spec.attributes = attributes;
  spec.inputs = std::move(inputs);
  for (model::TensorType& type : outputs) spec.outputs.push_back(Operand{std::move(type)});
  if (RoleOf(op) == LayoutRole::kChannelsLast && !spec.inputs.empty() && !spec.outputs.empty()) {
    if (HasLayout(spec.inputs[0].type)) spec.inputs[0].layout = Layout::kChannelsLast;
    if (HasLayout(spec.outputs[0].type)) spec.outputs[0].layout = Layout::kChannelsLast;
  }
  if (RoleOf(op) == LayoutRole::kTied && !spec.outputs.empty()) TieLayouts(spec);
  spec.threads = threads;
  spec.storage = storage;
  const bool any_constant = std::any_of(spec.inputs.begin(), spec.inputs.end(),
                                        [](const Operand& input) { return input.constant; });
  spec.constant_footprint_log2 = any_constant ? constant_footprint_log2 : 0;
  spec.free = FreeView(spec).has_value();
  return spec;
}

KernelSpec MakeReorder(const model::TensorType& type, Layout from, Layout to, int threads,
                       Storage storage) {
  KernelSpec spec;
  spec.op = kReorderOp;
  spec.inputs = {Operand{type, false, from}};
  spec.outputs = {Operand{type, false, to}};
  spec.threads = threads;
  spec.storage = storage;
  return spec;
}

}  // namespace quotient::kernels
