#pragma once

// What tests tell the library that stands for NVML (fake_nvml.cc), which they find by dlsym.

namespace quotient::ops {

struct FakeNvml {
  virtual ~FakeNvml() = default;
  // The driver answers nothing from now on, or again.
  virtual void Hang(bool hangs) = 0;
  // The second GPU answers nothing from now on.
  virtual void LoseGpu() = 0;
  // The first GPU reports an error.
  virtual void RaiseXid() = 0;
  // How often the memory of a GPU was asked for.
  virtual int reads() = 0;
};

}  // namespace quotient::ops
