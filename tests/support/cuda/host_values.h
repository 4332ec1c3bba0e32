#pragma once

// Values in the emulated libraries. They are doubles, whatever type they have in memory.

#include <cstdint>
#include <functional>
#include <span>
#include <vector>

#include "core/model/dtype.h"

namespace quotient::kernels::cuda::host {

// Reads or writes element `index` of an array of float32, float16 or bfloat16.
double Load(model::DType type, const void* data, int64_t index);
void Store(model::DType type, void* data, int64_t index, double value);

// Rounds to ten bits of mantissa.
double ToTf32(double value);

int64_t Volume(const std::vector<int64_t>& dims);

// Calls visit(index) for every index of a tensor with these dims.
void ForEach(const std::vector<int64_t>& dims,
             const std::function<void(std::span<const int64_t>)>& visit);

// A tensor in row-major order, as doubles.
struct Values {
  std::vector<int64_t> dims;
  std::vector<double> data;

  double& at(std::span<const int64_t> index) { return data[Offset(index)]; }
  double at(std::span<const int64_t> index) const { return data[Offset(index)]; }
  // The position of an element in `data`. An axis of size 1 is broadcast: its index is ignored.
  int64_t Offset(std::span<const int64_t> index) const {
    int64_t offset = 0;
    for (size_t i = 0; i < dims.size(); ++i)
      offset = offset * dims[i] + (dims[i] == 1 ? 0 : index[i]);
    return offset;
  }
};

}  // namespace quotient::kernels::cuda::host
