#include "core/kernels/device_name.h"

#include <utility>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "absl/strings/strip.h"
#include "core/base/counted.h"

namespace quotient::kernels {
namespace {

// The first field that begins with `prefix`; "" if there is none.
absl::string_view FieldOf(const std::vector<absl::string_view>& fields, absl::string_view prefix) {
  for (absl::string_view field : fields) {
    if (absl::StartsWith(field, prefix)) return field;
  }
  return "";
}

// The version in a field such as "oneDNN 3.9.1 HASH isa ISA" behind the library's name, as people
// know it; "" for an empty field.
std::string LibraryOf(absl::string_view name, absl::string_view field) {
  const std::vector<absl::string_view> words = absl::StrSplit(field, absl::MaxSplits(' ', 2));
  return words.size() < 2 ? "" : absl::StrCat(name, " ", words[1]);
}

// The number in a field "threads N"; 0 for any other text.
int ThreadsOf(absl::string_view field) {
  int threads = 0;
  return absl::ConsumePrefix(&field, "threads ") && absl::SimpleAtoi(field, &threads) && threads > 0
             ? threads
             : 0;
}

// "AuthenticAMD family 25 model 1 stepping 0 (AMD EPYC 7B13)" has the name in parentheses.
absl::string_view NameOfProcessor(absl::string_view field) {
  absl::string_view name = field;
  const size_t parenthesis = name.find(" (");
  if (parenthesis == absl::string_view::npos || !absl::ConsumeSuffix(&name, ")")) return field;
  name.remove_prefix(parenthesis + 2);
  return name.empty() ? field : name;
}

// cpu; VENDOR family F model M stepping S (NAME); ...; oneDNN VERSION HASH isa ISA; ...
DeviceDescription DescribeCpuDevice(const std::vector<absl::string_view>& fields) {
  return {std::string(NameOfProcessor(fields[1])), LibraryOf("oneDNN", FieldOf(fields, "oneDNN "))};
}

// cuda; NAME; ...; cudnn VERSION; ...
DeviceDescription DescribeGpu(const std::vector<absl::string_view>& fields) {
  return {std::string(fields[1]), LibraryOf("cuDNN", FieldOf(fields, "cudnn "))};
}

// onnxruntime; ONNX Runtime VERSION on NAME; ...
DeviceDescription DescribeOnnxRuntime(const std::vector<absl::string_view>& fields) {
  const std::pair<absl::string_view, absl::string_view> library_and_name =
      absl::StrSplit(fields[1], absl::MaxSplits(" on ", 1));
  if (library_and_name.second.empty()) return {.hardware = std::string(fields[1])};
  return {std::string(library_and_name.second), std::string(library_and_name.first)};
}

// How the fingerprints of a kind of device are read. A kind without a row is described by its
// second field.
struct Format {
  absl::string_view first_field;
  DeviceDescription (*describe)(const std::vector<absl::string_view>& fields);  // Two at least.
};
constexpr Format kFormats[] = {
    {"cpu", DescribeCpuDevice}, {"cuda", DescribeGpu}, {"onnxruntime", DescribeOnnxRuntime}};

}  // namespace

DeviceDescription DescribeDevice(absl::string_view fingerprint) {
  const std::vector<absl::string_view> fields = absl::StrSplit(fingerprint, "; ");
  if (fields.size() < 2 || fields[1].empty()) return {.hardware = std::string(fingerprint)};
  DeviceDescription device = {.hardware = std::string(fields[1])};
  for (const Format& format : kFormats) {
    if (format.first_field == fields[0]) device = format.describe(fields);
  }
  device.threads = ThreadsOf(FieldOf(fields, "threads "));
  return device;
}

std::string DeviceName(absl::string_view fingerprint) {
  const DeviceDescription device = DescribeDevice(fingerprint);
  if (device.library.empty()) return device.hardware;
  return absl::StrCat(device.library, " on ", device.hardware);
}

std::string DeviceNameAndThreads(absl::string_view fingerprint) {
  const int threads = DescribeDevice(fingerprint).threads;
  const std::string name = DeviceName(fingerprint);
  return threads > 0 ? absl::StrCat(name, ", ", Counted(threads, "thread")) : name;
}

std::string ShortDevice(absl::string_view name) {
  constexpr absl::string_view kSnapshot = "snapshot:";
  constexpr size_t kDigits = 12;
  if (!absl::StartsWith(name, kSnapshot)) return std::string(name);
  return std::string(name.substr(0, kSnapshot.size() + kDigits));
}

}  // namespace quotient::kernels
