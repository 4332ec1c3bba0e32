#include "core/eval/fold_cache.h"

#include "absl/strings/str_cat.h"

namespace quotient::eval {

Digest FoldCache::KeyOf(const model::Node& node, std::span<const model::Tensor* const> inputs) {
  Digester digester;
  digester.Update(absl::StrCat(node.op, ToString(node.attributes), "\n"));
  for (const model::ValueId output : node.outputs) digester.Update(output.valid() ? "out " : "no ");
  for (const model::Tensor* input : inputs) {
    digester.Update(input != nullptr ? "in " : "no ");
    if (input != nullptr) digester.Update(std::as_bytes(std::span(input->digest().bytes())));
  }
  return digester.Finish();
}

const std::vector<model::Tensor>* FoldCache::Find(const Digest& key) const {
  const auto found = outputs_.find(key);
  return found == outputs_.end() ? nullptr : &found->second;
}

void FoldCache::Add(const Digest& key, const std::vector<model::Tensor>& outputs) {
  int64_t bytes = 0;
  for (const model::Tensor& tensor : outputs) bytes += static_cast<int64_t>(tensor.bytes().size());
  if (bytes > left_ || !outputs_.emplace(key, outputs).second) return;
  left_ -= bytes;
}

}  // namespace quotient::eval
