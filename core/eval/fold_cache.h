#pragma once

// What nodes on constants compute, for graphs that have much in common: candidates of one search
// often transpose or merge the same weights, which takes time, and memory each time.

#include <cstdint>
#include <span>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "core/base/digest.h"
#include "core/model/graph.h"
#include "core/model/tensor.h"

namespace quotient::eval {

// For one thread at a time.
class FoldCache {
 public:
  // Results are kept as long as they have at most `max_bytes` in all. What comes later is computed
  // each time.
  explicit FoldCache(int64_t max_bytes) : left_(max_bytes) {}

  // Identifies what a node computes from `inputs`, in which those that are left out are null.
  static Digest KeyOf(const model::Node& node, std::span<const model::Tensor* const> inputs);

  // Null if nothing is known.
  const std::vector<model::Tensor>* Find(const Digest& key) const;
  void Add(const Digest& key, const std::vector<model::Tensor>& outputs);

 private:
  int64_t left_;
  absl::flat_hash_map<Digest, std::vector<model::Tensor>> outputs_;
};

}  // namespace quotient::eval
