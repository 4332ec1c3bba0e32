#pragma once

// A kernel that destroys a GPU or its process, on any GPU.

#include <functional>
#include <memory>
#include <string>

#include "core/kernels/backend.h"
#include "core/kernels/cuda/interface/gpu.h"
#include "core/kernels/kernel_spec.h"
#include "core/model/graph.h"

namespace quotient::kernels::cuda {

// A matrix product with a constant: a graph, and the one kernel that it is.
struct Product {
  model::Graph graph;
  KernelSpec spec;
};
Product SmallProduct();

// Expects that a graph runs although its caller asks for a plan by name that is barred.
void ExpectRunsWithout(const std::string& barred, const Backend& backend,
                       const model::Graph& graph);

// Runs a product in another process in which one of a library's plans writes to an illegal address,
// and expects of this process that the journal bars that plan and no other, that the product is
// computed by another one, and that graphs which want the barred one by its name run, too. Call it
// once per test, and from a test suite named *DeathTest: the other process runs the test up to
// here.
void ExpectNobodyMeetsADeadlyPlanTwice(const std::function<std::unique_ptr<Gpu>()>& open_gpu);

}  // namespace quotient::kernels::cuda
