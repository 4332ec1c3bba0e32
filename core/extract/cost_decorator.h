#pragma once

#include <span>

#include "core/extract/extract.h"

namespace quotient::extract {

// Another cost function, of which derived classes change a part. Thread-safe if that one is.
class CostDecorator : public CostFunction {
 public:
  // Borrows it.
  explicit CostDecorator(const CostFunction& decorated) : decorated_(decorated) {}

  double Cost(ENodeId node) const override { return decorated_.Cost(node); }
  std::span<const Fusion> Fusions() const override { return decorated_.Fusions(); }
  std::span<const SharedKernel> SharedKernels() const override {
    return decorated_.SharedKernels();
  }

 private:
  const CostFunction& decorated_;
};

}  // namespace quotient::extract
