// Writes a network of networks.h. --help lists the options.

#include <algorithm>
#include <fstream>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/ascii.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "core/base/status_macros.h"
#include "tests/support/arguments.h"
#include "tests/support/networks/float_type.h"
#include "tests/support/networks/networks.h"
#include "tests/support/program.h"

namespace quotient {
namespace {

constexpr char kUsage[] =
    R"(usage: make_network NAME -o FILE.onnx [--paper | --batch-norm] [--batch NUMBER|SYMBOL]
                    [--type TYPE]

  NAME            bert, nasrnn, resnet50, resnext50, nasnet, inception_v3, mobilenet_v2, mobileone,
                  squeezenet or vgg19
  --paper         as TASO and TENSAT had it, instead of as published; they had no mobileone
  --batch-norm    squeezenet and vgg19: with normalization behind each convolution
  --batch N|NAME  a number or a symbol (1); not for bert of the papers, which has no batch
  --type TYPE     of all floats: float32, float16 or bfloat16 (float32)
)";
constexpr Program kProgram = {"make_network", kUsage};

struct Request {
  ::onnx::ModelProto model;
  std::string output;
};

// The batch size is a number or a symbol, which must not begin with a digit.
Flag BatchFlag(std::string& place) {
  return {"--batch", [&place](absl::string_view value) {
            int64_t number = 0;
            const bool symbol =
                !value.empty() && (absl::ascii_isalpha(value[0]) || value[0] == '_');
            if (!symbol && (!absl::SimpleAtoi(value, &number) || number < 1)) {
              return WrongArgument(
                  "--batch", absl::StrCat("wants a number from 1 on or a symbol, not ", value));
            }
            place = std::string(value);
            return absl::OkStatus();
          }};
}

// An error that says why networks::MakeNetwork returned nothing.
absl::Status Refusal(const std::string& name, const networks::NetworkOptions& options) {
  const std::vector<std::string> known = networks::NetworkNames();
  if (std::ranges::find(known, name) == known.end()) {
    return WrongArgument("NAME",
                         absl::StrCat("wants one of ", absl::StrJoin(known, ", "), ", not ", name));
  }
  if (!networks::FloatTypeOf(options.float_type)) {
    return WrongArgument(
        "--type", absl::StrCat("wants float32, float16 or bfloat16, not ", options.float_type));
  }
  if (options.paper()) {
    const std::vector<std::string> in_papers = networks::NetworkNames(options.variant);
    if (std::ranges::find(in_papers, name) == in_papers.end()) {
      return WrongArgument("--paper", absl::StrCat("not for ", name));
    }
  }
  if (options.batch_norm && options.paper()) {
    return WrongArgument("--batch-norm", "not with --paper");
  }
  if (options.batch_norm) return WrongArgument("--batch-norm", absl::StrCat("not for ", name));
  return WrongArgument("--batch", absl::StrCat(name, " of the papers has none"));
}

absl::StatusOr<Request> ParseRequest(std::span<const char* const> words) {
  Request request;
  networks::NetworkOptions options;
  std::vector<std::string> names;
  bool paper = false;
  const Flag flags[] = {
      TextFlag("-o", request.output),
      Switch("--paper", paper),
      Switch("--batch-norm", options.batch_norm),
      BatchFlag(options.batch),
      TextFlag("--type", options.float_type),
  };
  QUOTIENT_RETURN_IF_ERROR(ParseArguments(words, flags, &names));
  if (names.empty()) return WrongArgument("NAME", "is missing");
  if (names.size() > 1) return WrongArgument(names[1], "one network at a time");
  if (request.output.empty()) return WrongArgument("-o", "is missing: the file to write");
  if (paper) options.variant = networks::Variant::kPaper;
  std::optional<::onnx::ModelProto> model = networks::MakeNetwork(names[0], options);
  if (!model.has_value()) return Refusal(names[0], options);
  request.model = *std::move(model);
  return request;
}

absl::StatusOr<bool> Write(const Request& request) {
  std::ofstream file(request.output, std::ios::binary);
  if (request.model.SerializeToOstream(&file) && file.flush()) return true;
  return absl::UnavailableError(absl::StrCat("cannot write ", request.output));
}

}  // namespace
}  // namespace quotient

int main(int argc, char** argv) {
  return quotient::RunProgram(quotient::kProgram, {argv + 1, static_cast<size_t>(argc - 1)},
                              quotient::ParseRequest, quotient::Write);
}
