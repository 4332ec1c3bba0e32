#include "core/kernels/cuda/plugin/cublaslt_plan_name.h"

#include <cstring>
#include <map>
#include <utility>

#include "absl/status/status.h"
#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "absl/strings/string_view.h"
#include "core/base/digest.h"
#include "core/base/log.h"

namespace quotient::kernels::cuda {
namespace {

constexpr char kBytes[] = "bytes";
constexpr size_t kDigits = 12;

// In the order in which names list them.
constexpr std::array<ConfigField, 9> kConfig = {{
    {"algo", CUBLASLT_ALGO_CONFIG_ID, 4},
    {"tile", CUBLASLT_ALGO_CONFIG_TILE_ID, 4},
    {"stages", CUBLASLT_ALGO_CONFIG_STAGES_ID, 4},
    {"splitk", CUBLASLT_ALGO_CONFIG_SPLITK_NUM, 4},
    {"reduction", CUBLASLT_ALGO_CONFIG_REDUCTION_SCHEME, 4},
    {"swizzle", CUBLASLT_ALGO_CONFIG_CTA_SWIZZLING, 4},
    {"option", CUBLASLT_ALGO_CONFIG_CUSTOM_OPTION, 4},
    {"inner", CUBLASLT_ALGO_CONFIG_INNER_SHAPE_ID, 2},
    {"cluster", CUBLASLT_ALGO_CONFIG_CLUSTER_SHAPE_ID, 2},
}};

std::string NameOf(const cublasLtMatmulAlgo_t& algorithm) {
  std::string name;
  for (const ConfigField& field : kConfig) {
    absl::StrAppend(&name, name.empty() ? "" : ",", field.name, "=", GetConfig(algorithm, field));
  }
  return name;
}

std::string BytesOf(const cublasLtMatmulAlgo_t& algorithm) {
  std::string bytes(sizeof(algorithm), '\0');
  std::memcpy(bytes.data(), &algorithm, bytes.size());
  return bytes;
}

}  // namespace

uint32_t GetConfig(const cublasLtMatmulAlgo_t& algorithm, const ConfigField& field) {
  uint32_t value = 0;
  size_t written = 0;
  if (cublasLtMatmulAlgoConfigGetAttribute(&algorithm, field.attribute, &value, field.bytes,
                                           &written) != CUBLAS_STATUS_SUCCESS) {
    return 0;
  }
  return value;
}

std::vector<std::string> MatmulPlanNames(std::span<const cublasLtMatmulAlgo_t> algorithms) {
  std::map<std::string, std::string> first;  // The bytes of the first algorithm of each name.
  std::vector<std::string> names;
  for (const cublasLtMatmulAlgo_t& algorithm : algorithms) {
    std::string name = NameOf(algorithm);
    const std::string bytes = BytesOf(algorithm);
    if (first.try_emplace(name, bytes).first->second != bytes) {
      absl::StrAppend(&name, ",", kBytes, "=", Digest::Of(bytes).Hex().substr(0, kDigits));
    }
    names.push_back(std::move(name));
  }
  return names;
}

void WarnOfCollisions(std::span<const std::string> names) {
  const std::string marker = absl::StrCat(",", kBytes, "=");
  for (const std::string& name : names) {
    if (!absl::StrContains(name, marker)) continue;
    Log().warn("cuBLASLt: {} differs from another algorithm in no field that its name has", name);
  }
}

absl::StatusOr<Configuration> ParseMatmulPlanName(const std::string& plan) {
  const absl::Status bad =
      absl::InvalidArgumentError(absl::StrCat("'", plan, "' names no cuBLASLt plan"));
  std::map<std::string, std::string> values;
  for (const absl::string_view part : absl::StrSplit(plan, ',')) {
    values.insert(
        std::pair<std::string, std::string>(absl::StrSplit(part, absl::MaxSplits('=', 1))));
  }
  if (values.count(kBytes) > 0) {
    return absl::UnimplementedError(absl::StrCat("cuBLASLt does not propose '", plan, "' here"));
  }
  Configuration configuration;
  for (const ConfigField& field : kConfig) {
    const auto found = values.find(field.name);
    uint32_t value = 0;
    if (found == values.end() || !absl::SimpleAtoi(found->second, &value)) return bad;
    configuration.push_back({&field, value});
  }
  return configuration;
}

}  // namespace quotient::kernels::cuda
