// cuDNN's handles and failures, with stand-ins for the functions of cuDNN that they call.

#include "core/kernels/cuda/plugin/cudnn_handles.h"

#include <gtest/gtest.h>

#include <string>

#include "core/kernels/cuda/plugin/cudnn_status.h"
#include "tests/support/status_matchers.h"

namespace {

absl::Mutex capturing;
int made = 0;
bool made_while_captured_was_possible = false;

}  // namespace

cudnnStatus_t cudnnCreate(cudnnHandle_t* handle) {
  static char anything;
  *handle = reinterpret_cast<cudnnHandle_t>(&anything);
  ++made;
  if (capturing.TryLock()) {
    made_while_captured_was_possible = true;
    capturing.Unlock();
  }
  return CUDNN_STATUS_SUCCESS;
}
cudnnStatus_t cudnnDestroy(cudnnHandle_t) { return CUDNN_STATUS_SUCCESS; }
const char* cudnnGetErrorString(cudnnStatus_t) { return "CUDNN_STATUS_OF_A_TEST"; }

namespace quotient::kernels::cuda {
namespace {

TEST(HandlePoolTest, NoHandleIsMadeWhileAStreamIsCaptured) {
  HandlePool pool(&capturing);
  ASSERT_OK(pool.Open());
  made_while_captured_was_possible = false;
  made = 0;
  ASSERT_OK_AND_ASSIGN(const cudnnHandle_t handle, pool.Take());
  EXPECT_EQ(made, 1);
  EXPECT_FALSE(made_while_captured_was_possible);
  // One that there is already can be taken while a stream is captured.
  pool.Return(handle);
  const absl::MutexLock lock(&capturing);
  ASSERT_OK(pool.Take());
  EXPECT_EQ(made, 1);
}

TEST(CudnnStatusTest, OnlyWhatIsNotSupportedIsNotThere) {
  for (const cudnnStatus_t status :
       {CUDNN_STATUS_NOT_SUPPORTED, CUDNN_STATUS_BAD_PARAM, CUDNN_STATUS_NOT_SUPPORTED_SHAPE}) {
    EXPECT_TRUE(absl::IsUnimplemented(CudnnStatus(status, "test"))) << status;
  }
  for (const cudnnStatus_t status :
       {CUDNN_STATUS_NOT_INITIALIZED, CUDNN_STATUS_SUBLIBRARY_LOADING_FAILED,
        CUDNN_STATUS_SUBLIBRARY_VERSION_MISMATCH, CUDNN_STATUS_INTERNAL_ERROR,
        CUDNN_STATUS_EXECUTION_FAILED}) {
    EXPECT_TRUE(absl::IsInternal(CudnnStatus(status, "test"))) << status;
  }
}

// As cudnn_frontend 1.32 and cuDNN 9.19 word them.
TEST(CudnnStatusTest, TextsAreReadByTheStatusesInThem) {
  for (const char* text :
       {"No valid engine configs for ConvFwd_", "a tensor without dimensions",
        "finalize failed with message: , and code: CUDNN_STATUS_NOT_SUPPORTED_DATA_TYPE",
        "code: CUDNN_STATUS_BAD_PARAM",
        "none\nWarning: CUDNN_STATUS_NOT_SUPPORTED; Reason: (CUDNN_STATUS_NOT_INITIALIZED == "
        "status)\nWarning: CUDNN_STATUS_NOT_SUPPORTED; Reason: isSupported()"}) {
    EXPECT_TRUE(absl::IsUnimplemented(StatusOfText(text))) << text;
  }
  for (const char* text :
       {"No valid engine configs for ConvFwd_\nError: CUDNN_STATUS_SUBLIBRARY_LOADING_FAILED; "
        "Reason: x",
        "and code: CUDNN_STATUS_NOT_INITIALIZED", "code: CUDNN_STATUS_INTERNAL_ERROR",
        "Warning: CUDNN_STATUS_NOT_SUPPORTED; Reason: a\nError: "
        "CUDNN_STATUS_INTERNAL_ERROR_COMPILATION_FAILED; Reason: b",
        "CUDNN_STATUS_EXECUTION_FAILED_CUDA_DRIVER"}) {
    EXPECT_TRUE(absl::IsInternal(StatusOfText(text))) << text;
  }
  EXPECT_TRUE(absl::IsResourceExhausted(
      StatusOfText("code: CUDNN_STATUS_INTERNAL_ERROR_DEVICE_ALLOCATION_FAILED")));
}

}  // namespace
}  // namespace quotient::kernels::cuda
