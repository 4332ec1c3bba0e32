#include "core/kernels/kernel_names.h"

#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"

namespace quotient::kernels {
namespace {

// An operator of a runtime is "runtime:domain:operator". Its contributed operators, which have
// names of their own, are in the domain "com.microsoft".
std::string OperatorName(absl::string_view op) {
  if (op == kReorderOp) return "(change of memory layout)";
  const std::vector<absl::string_view> words = absl::StrSplit(op, ':');
  if (words.size() != 3) return std::string(op);
  const absl::string_view domain = words[1];
  if (domain.empty() || domain == "ai.onnx" || domain == "com.microsoft") {
    return std::string(words[2]);
  }
  return absl::StrCat(words[2], " (", domain.substr(domain.rfind('.') + 1), ")");
}

}  // namespace

std::string OperatorNames(const KernelSpec& spec, absl::string_view separator) {
  std::string text = OperatorName(spec.op);
  for (const Epilogue& epilogue : spec.epilogue) absl::StrAppend(&text, separator, epilogue.op);
  return text;
}

}  // namespace quotient::kernels
