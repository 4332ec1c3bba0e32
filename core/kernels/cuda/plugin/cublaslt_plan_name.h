#pragma once

// Names for cuBLASLt's algorithms, by number and configuration: "algo=66,tile=18,...".

#include <cublasLt.h>

#include <array>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "absl/status/statusor.h"

namespace quotient::kernels::cuda {

// A field of an algorithm's configuration.
struct ConfigField {
  const char* name;
  cublasLtMatmulAlgoConfigAttributes_t attribute;
  size_t bytes;
};

// Returns 0 if the algorithm has no such field.
uint32_t GetConfig(const cublasLtMatmulAlgo_t& algorithm, const ConfigField& field);

// Returns one name for each. Algorithms with the same bytes have the same name. If algorithms
// differ in something that is not a field, and so not in their names, the second and further ones
// get a digest of their bytes appended ("...,bytes=4f8a12c09b7e"), by which they can be found as
// long as cuBLASLt proposes them.
std::vector<std::string> MatmulPlanNames(std::span<const cublasLtMatmulAlgo_t> algorithms);

// Logs a warning for each of these names that has a digest.
void WarnOfCollisions(std::span<const std::string> names);

// The fields of a name, beginning with the algorithm's number.
struct ConfigValue {
  const ConfigField* field;
  uint32_t value;
};
using Configuration = std::vector<ConfigValue>;
// Fails with INVALID_ARGUMENT for what is not a name, and with UNIMPLEMENTED for a name with a
// digest, from which no algorithm can be made.
absl::StatusOr<Configuration> ParseMatmulPlanName(const std::string& plan);

}  // namespace quotient::kernels::cuda
