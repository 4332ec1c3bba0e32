#include "core/kernels/device_name.h"

#include <gtest/gtest.h>

namespace quotient::kernels {
namespace {

TEST(DeviceNameTest, IsWhatPeopleKnowTheDeviceBy) {
  EXPECT_EQ(DeviceName("cpu; AuthenticAMD family 25 model 1 stepping 0 (AMD EPYC 7B13); flags avx"),
            "AMD EPYC 7B13");
  EXPECT_EQ(DeviceName("cpu; GenuineIntel family 6 model 143 stepping 8 (Intel(R) Xeon(R) 8481C); "
                       "flags avx; compiler 12 (Debian)"),
            "Intel(R) Xeon(R) 8481C");
  EXPECT_EQ(DeviceName("cuda; NVIDIA H200; sm_90; processors 132"), "NVIDIA H200");
  EXPECT_EQ(DeviceName("cuda; NVIDIA A100 (MIG 1g); sm_80; processors 14"), "NVIDIA A100 (MIG 1g)");
}

TEST(DeviceNameTest, TheLibraryComesFirstIfItIsKnown) {
  EXPECT_EQ(DeviceName("onnxruntime; ONNX Runtime 1.31.1 on AMD EPYC 7B13; build 0123; flags avx"),
            "ONNX Runtime 1.31.1 on AMD EPYC 7B13");
  EXPECT_EQ(
      DeviceName("cpu; AuthenticAMD family 25 model 1 stepping 0 (AMD EPYC 7B13); caches 1 2; "
                 "oneDNN 3.9.1 abc isa 0x1; loops avx2"),
      "oneDNN 3.9.1 on AMD EPYC 7B13");
  EXPECT_EQ(DeviceName("cuda; NVIDIA H200; sm_90; runtime 13000; cudnn 91300; nvrtc 13"),
            "cuDNN 91300 on NVIDIA H200");
  const DeviceDescription device = DescribeDevice("onnxruntime; ONNX Runtime 1.31.1 on A on B");
  EXPECT_EQ(device.library, "ONNX Runtime 1.31.1");
  EXPECT_EQ(device.hardware, "A on B");
}

TEST(DeviceNameTest, ThreadsAreToldWhereTheDeviceHasANumberOfThem) {
  EXPECT_EQ(DeviceNameAndThreads("onnxruntime; ONNX Runtime 1.31.1 on A; cores 2; threads 2; x"),
            "ONNX Runtime 1.31.1 on A, 2 threads");
  EXPECT_EQ(DeviceNameAndThreads("cpu; V (A); threads 1; oneDNN 3.9.1 abc"),
            "oneDNN 3.9.1 on A, 1 thread");
  EXPECT_EQ(DescribeDevice("cpu; V (A); threads 1").threads, 1);
  for (const char* const text : {"cuda; NVIDIA H200; sm_90", "cpu; A; threads", "cpu; A; threads x",
                                 "cpu; A; threads -1", "cpu; A; threads 99999999999"}) {
    EXPECT_EQ(DeviceNameAndThreads(text), DeviceName(text));
    EXPECT_EQ(DescribeDevice(text).threads, 0);
  }
}

TEST(ShortDeviceTest, OfASnapshotTheFirstDigitsAreEnough) {
  EXPECT_EQ(
      ShortDevice("snapshot:2cf24dba5fb0a30e26e83b2ac5b9e29e1b161e5c1fa7425e73043362938b9824/5"),
      "snapshot:2cf24dba5fb0");
  for (const char* const name : {"", "cpu", "cuda:1-strict32", "model:h200", "snapshot:2c"}) {
    EXPECT_EQ(ShortDevice(name), name);
  }
}

TEST(DeviceNameTest, AnyOtherTextIsItsOwnName) {
  for (const char* const text : {"", "a core", "cpu; ", "cpu; ; x"}) {
    EXPECT_EQ(DeviceName(text), text);
  }
  EXPECT_EQ(DeviceName("abacus; ten beads on a wire; 1 thread"), "ten beads on a wire");
  EXPECT_EQ(DeviceName("cpu; (x"), "(x");
  EXPECT_EQ(DeviceName("cpu; ()"), "()");
}

}  // namespace
}  // namespace quotient::kernels
