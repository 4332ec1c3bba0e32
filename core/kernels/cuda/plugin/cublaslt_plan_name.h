#pragma once

// Names for cuBLASLt's algorithms: "algo=66,tile=18,...", their number and configuration.

#include <cublasLt.h>

#include <array>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "absl/status/statusor.h"

namespace quotient::kernels::cuda {

// What can be configured of an algorithm.
struct ConfigField {
  const char* name;
  cublasLtMatmulAlgoConfigAttributes_t attribute;
  size_t bytes;
};

// 0 where an algorithm has no such field.
uint32_t GetConfig(const cublasLtMatmulAlgo_t& algorithm, const ConfigField& field);

// One name for each. Algorithms whose bytes are the same have the same name. Of those that differ
// in something that is no field, and so no part of a name, the second and further ones get a digest
// of their bytes behind it ("...,bytes=4f8a12c09b7e"): as long as cuBLASLt proposes them, they are
// found by it.
std::vector<std::string> MatmulPlanNames(std::span<const cublasLtMatmulAlgo_t> algorithms);

// The fields of a name, the algorithm's number first.
struct ConfigValue {
  const ConfigField* field;
  uint32_t value;
};
using Configuration = std::vector<ConfigValue>;
// INVALID_ARGUMENT for what is no name; UNIMPLEMENTED for one with a digest, from which nothing can
// be made.
absl::StatusOr<Configuration> ParseMatmulPlanName(const std::string& plan);

}  // namespace quotient::kernels::cuda
