#pragma once

#include <memory>
#include <string>

#include "core/kernels/cuda/interface/plugin.h"

namespace quotient::kernels::cuda {

// The plug-in of this build. Ends the test program if it cannot be loaded.
Plugin& PluginUnderTest();

// A checker with cuDNN as it would behave on an H200. `cache` may be null.
std::unique_ptr<DnnChecker> H200Checker(CodeCache* cache = nullptr);

// Makes sure that cuDNN can compile kernels. It does so only if it can load the driver, for which
// the stub that CUDA provides for linking is good enough. Returns false if there is neither.
bool LoadDriverOrStub();

}  // namespace quotient::kernels::cuda
