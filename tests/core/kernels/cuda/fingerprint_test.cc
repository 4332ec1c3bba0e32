#include "core/kernels/cuda/fingerprint.h"

#include <gtest/gtest.h>

#include <string>

namespace quotient::kernels::cuda {
namespace {

GpuFacts Facts() {
  GpuFacts facts;
  facts.name = "NVIDIA H200";
  facts.compute_capability = 90;
  facts.processors = 132;
  facts.memory_bytes = int64_t{139} << 30;
  facts.l2_bytes = 60 << 20;
  facts.bus_bits = 6144;
  facts.max_clock_khz = 1'980'000;
  facts.max_memory_clock_khz = 3'201'000;
  facts.power_limit_watts = "700.00";
  return facts;
}

TEST(HardwareOfTest, WhatAFingerprintSaysIsReadBack) {
  for (const bool ecc : {false, true}) {
    GpuFacts facts = Facts();
    facts.ecc = ecc;
    const auto read = HardwareOf(GpuFingerprint(facts, MathPolicy::kTf32).text);
    ASSERT_TRUE(read.has_value());
    EXPECT_EQ(read->name, facts.name);
    EXPECT_EQ(read->compute_capability, facts.compute_capability);
    EXPECT_EQ(read->processors, facts.processors);
    EXPECT_EQ(read->memory_bytes, facts.memory_bytes);
    EXPECT_EQ(read->l2_bytes, facts.l2_bytes);
    EXPECT_EQ(read->bus_bits, facts.bus_bits);
    EXPECT_EQ(read->max_clock_khz, facts.max_clock_khz);
    EXPECT_EQ(read->max_memory_clock_khz, facts.max_memory_clock_khz);
  }
}

TEST(HardwareOfTest, OtherTextsSayNothing) {
  const std::string text = GpuFingerprint(Facts(), MathPolicy::kStrict32).text;
  EXPECT_FALSE(HardwareOf("").has_value());
  EXPECT_FALSE(HardwareOf("cpu; " + text).has_value());
  for (size_t size = 0; size < text.find("MHz"); ++size) {
    EXPECT_FALSE(HardwareOf(text.substr(0, size)).has_value()) << size;
  }
}

// The fingerprint of a snapshot is what somebody wrote into a file.
TEST(HardwareOfTest, NumbersThatNoGpuHasSayNothing) {
  for (const int processors : {0, -132, 2'000'000'000}) {
    GpuFacts facts = Facts();
    facts.processors = processors;
    EXPECT_FALSE(HardwareOf(GpuFingerprint(facts, MathPolicy::kTf32).text)) << processors;
  }
  std::string text = GpuFingerprint(Facts(), MathPolicy::kTf32).text;
  text.replace(text.find("1980 and"), 4, "3000000");  // MHz, which would overflow as kHz.
  EXPECT_FALSE(HardwareOf(text).has_value());
}

}  // namespace
}  // namespace quotient::kernels::cuda
