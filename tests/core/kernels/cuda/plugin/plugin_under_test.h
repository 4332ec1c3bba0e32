#pragma once

#include <memory>
#include <string>

#include "core/kernels/cuda/plugin.h"

namespace quotient::kernels::cuda {

// The plug-in of this build. A failure ends the test program.
Plugin& PluginUnderTest();

// cuDNN as it would be on an H200. `cache` may be null.
std::unique_ptr<DnnChecker> H200Checker(CodeCache* cache = nullptr);

// Makes sure that cuDNN can compile kernels: it does so only where it can load the driver, for
// which the one that CUDA has for linking is good enough. False where there is none of them.
bool LoadDriverOrStub();

}  // namespace quotient::kernels::cuda
