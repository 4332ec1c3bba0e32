#include "core/optimize/subset_of_work.h"

#include <algorithm>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "core/kernels/fusion.h"
#include "core/kernels/kernel_spec.h"

namespace quotient::optimize {
namespace {

using kernels::KernelSpec;
using kernels::Operand;

// The type of what a kernel writes, and the text of an operator that writes such a value.
using Part = std::pair<std::string, std::string>;

constexpr size_t kBiasInput = 2;

bool HasBias(const KernelSpec& spec) {
  return kernels::IsContraction(spec.op) && spec.inputs.size() > kBiasInput &&
         spec.inputs[kBiasInput].type.dtype != model::DType::kUndefined &&
         spec.inputs[kBiasInput].constant;
}

// The key of the main operator without its bias. How many constants the rest of the model has does
// not matter.
std::string MainKey(KernelSpec spec) {
  spec.epilogue.clear();
  spec.constant_footprint_log2 = 0;
  if (spec.inputs.size() > kBiasInput && kernels::IsContraction(spec.op)) {
    if (HasBias(spec) || spec.inputs[kBiasInput].type.dtype == model::DType::kUndefined) {
      spec.inputs.resize(kBiasInput);
    }
  }
  return kernels::KernelKey(spec);
}

std::string WrittenType(const KernelSpec& spec) {
  return spec.outputs.empty() ? "" : ToString(spec.outputs[0].type);
}

std::string OperatorText(const std::string& op, const model::AttributeMap& attributes,
                         const std::vector<Operand>& inputs) {
  std::vector<std::string> types;
  for (const Operand& input : inputs) {
    types.push_back(absl::StrCat(input.constant ? "const " : "", ToString(input.type)));
  }
  std::ranges::sort(types);
  return absl::StrCat(op, ToString(attributes), "(", absl::StrJoin(types, ", "), ")");
}

Part MainPart(const KernelSpec& spec) {
  return {WrittenType(spec), OperatorText(spec.op, spec.attributes, spec.inputs)};
}

// The running value has the type of what the kernel writes.
Part PartBehind(const KernelSpec& spec, const kernels::Epilogue& epilogue) {
  std::vector<Operand> inputs = epilogue.operands;
  inputs.push_back({spec.outputs[0].type});
  return {WrittenType(spec), OperatorText(epilogue.op, epilogue.attributes, inputs)};
}

// The parts of the original that no part of the candidate has been found to be yet.
class Unused {
 public:
  explicit Unused(const cost::GraphCost& original) {
    for (const kernels::KernelGroup& group : original.groups) {
      const KernelSpec& spec = group.spec;
      if (spec.free) continue;
      mains_[MainKey(spec)].push_back(MainPart(spec));
      if (HasBias(spec)) ++biases_[WrittenType(spec)];
      for (const kernels::Epilogue& epilogue : spec.epilogue) ++behind_[PartBehind(spec, epilogue)];
    }
  }

  bool UseMain(const KernelSpec& spec) {
    const auto at = mains_.find(MainKey(spec));
    if (at == mains_.end()) return false;
    at->second.pop_back();
    if (at->second.empty()) mains_.erase(at);
    return true;
  }

  // From now on, main operators count as operators behind others.
  void MixMains() {
    for (auto& [key, parts] : mains_) {
      for (Part& part : parts) ++behind_[std::move(part)];
    }
    mains_.clear();
  }

  bool UseBehind(const Part& part) { return Use(part, behind_); }
  bool UseBias(const std::string& type) { return Use(type, biases_); }
  // Uses any operator behind another that writes such a value.
  bool UseAnyWriting(const std::string& type) {
    const auto at = behind_.lower_bound({type, ""});
    if (at == behind_.end() || at->first.first != type) return false;
    return UseBehind(Part(at->first));
  }
  bool IsEmpty() const { return mains_.empty() && behind_.empty() && biases_.empty(); }

 private:
  template <typename Key>
  static bool Use(const Key& key, std::map<Key, int>& counts) {
    const auto at = counts.find(key);
    if (at == counts.end()) return false;
    if (--at->second == 0) counts.erase(at);
    return true;
  }

  std::map<std::string, std::vector<Part>> mains_;  // By MainKey.
  std::map<Part, int> behind_;
  std::map<std::string, int> biases_;  // By the type of what is written.
};

}  // namespace

bool DoesSubsetOfWork(const cost::GraphCost& original, const cost::GraphCost& candidate) {
  Unused unused(original);
  std::vector<const KernelSpec*> kernels;
  for (const kernels::KernelGroup& group : candidate.groups) {
    if (!group.spec.free) kernels.push_back(&group.spec);
  }
  for (const KernelSpec* spec : kernels) {
    if (!unused.UseMain(*spec)) return false;
  }
  unused.MixMains();
  for (const KernelSpec* spec : kernels) {
    for (const kernels::Epilogue& epilogue : spec->epilogue) {
      if (!unused.UseBehind(PartBehind(*spec, epilogue))) return false;
    }
  }
  bool is_less = false;
  for (const KernelSpec* spec : kernels) {
    if (!HasBias(*spec) || unused.UseBias(WrittenType(*spec))) continue;
    if (!unused.UseAnyWriting(WrittenType(*spec))) return false;
    is_less = true;
  }
  return is_less || !unused.IsEmpty();
}

}  // namespace quotient::optimize
