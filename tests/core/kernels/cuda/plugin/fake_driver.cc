// In place of libcuda.so.1: takes machine code and does nothing with it, so that cuDNN can finish
// plans without a GPU; there is no device and no context.

namespace {

constexpr int kSuccess = 0;
constexpr int kNoDevice = 100;

int Give(void** handle) {
  static char anything;
  *handle = &anything;
  return kSuccess;
}

}  // namespace

extern "C" {

int cuLibraryLoadData(void** library, ...) { return Give(library); }
int cuLibraryGetKernel(void** kernel, ...) { return Give(kernel); }
int cuLibraryUnload(void*) { return kSuccess; }

// cuDNN refuses a driver that lacks one of these.
#define QUOTIENT_FAILS(function) \
  int function() { return kNoDevice; }
QUOTIENT_FAILS(cuInit)
QUOTIENT_FAILS(cuDriverGetVersion)
QUOTIENT_FAILS(cuGetErrorName)
QUOTIENT_FAILS(cuGetErrorString)
QUOTIENT_FAILS(cuDeviceGet)
QUOTIENT_FAILS(cuDeviceGetCount)
QUOTIENT_FAILS(cuCtxGetCurrent)
QUOTIENT_FAILS(cuCtxGetLimit)
QUOTIENT_FAILS(cuCtxPopCurrent)
QUOTIENT_FAILS(cuCtxPushCurrent)
QUOTIENT_FAILS(cuStreamGetCtx)
QUOTIENT_FAILS(cuKernelGetAttribute)
QUOTIENT_FAILS(cuKernelSetAttribute)
QUOTIENT_FAILS(cuLaunchKernel)
QUOTIENT_FAILS(cuLaunchKernelEx)
QUOTIENT_FAILS(cuLaunchCooperativeKernel)
QUOTIENT_FAILS(cuLibraryLoadFromFile)
QUOTIENT_FAILS(cuLinkAddData)
QUOTIENT_FAILS(cuLinkComplete)
QUOTIENT_FAILS(cuLinkCreate)
QUOTIENT_FAILS(cuLinkDestroy)
QUOTIENT_FAILS(cuOccupancyMaxPotentialClusterSize)
#undef QUOTIENT_FAILS

}  // extern "C"
