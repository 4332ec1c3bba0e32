#include "client/cli/parse.h"

#include <algorithm>
#include <set>
#include <string>
#include <utility>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "client/cli/option_table.h"
#include "core/base/log.h"
#include "core/base/reason.h"
#include "core/base/status_macros.h"
#include "core/kernels/onnxruntime/ort_backend.h"
#include "core/optimize/device_table.h"
#include "core/os/files.h"

namespace quotient::cli {
namespace {

absl::Status Invalid(absl::string_view message) {
  return MakeError(Reason::kOptionInvalid, message);
}

// Returns the option named by `argument`, which must not include a value, or null.
const Option* FindOption(const Command& command, absl::string_view argument) {
  for (const Option& option : Options()) {
    if ((option.commands & command.bit) == 0) continue;
    if (argument == absl::StrCat("--", option.name)) return &option;
    if (option.short_name != 0 &&
        argument == absl::StrCat("-", std::string(1, option.short_name))) {
      return &option;
    }
  }
  return nullptr;
}

class Parser {
 public:
  Parser(const Command& command, std::span<const char* const> arguments)
      : command_(command), arguments_(arguments) {}

  absl::StatusOr<Settings> Parse() {
    while (next_ < arguments_.size()) {
      const absl::string_view argument = arguments_[next_++];
      if (!only_positionals_ && argument == "--") {
        only_positionals_ = true;
      } else if (only_positionals_ || argument == "-" || !absl::StartsWith(argument, "-")) {
        settings_.positional.emplace_back(argument);
      } else {
        QUOTIENT_RETURN_IF_ERROR(TakeOption(argument));
      }
    }
    if (command_.bit == kSimplify && settings_.positional.size() == 2) {
      if (Given("output")) return Invalid("OUT.onnx: given twice, as an argument and by --output");
      settings_.output = settings_.positional[1];
    }
    // Who names the library wants it to be used, and not another device if it is not there.
    if (Given("onnxruntime") && !Given("device")) {
      settings_.options.device = kernels::onnxruntime::kCpuDevice;
    }
    QUOTIENT_RETURN_IF_ERROR(CheckWhole());
    return settings_;
  }

 private:
  absl::Status TakeOption(absl::string_view argument) {
    const size_t equals = argument.find('=');
    const absl::string_view name = argument.substr(0, equals);
    const Option* const option = FindOption(command_, name);
    if (option == nullptr) {
      return Invalid(absl::StrCat(Escaped(name), ": '", command_.name, "' has no such option"));
    }
    if (!seen_.insert(option).second && !option->repeatable) {
      return Invalid(absl::StrCat("--", option->name, ": given twice"));
    }
    absl::string_view value;
    const bool attached = equals != absl::string_view::npos;
    if (option->value == nullptr) {
      if (attached) return Invalid(absl::StrCat("--", option->name, ": takes no value"));
    } else if (attached) {
      value = argument.substr(equals + 1);
    } else if (next_ < arguments_.size()) {
      value = arguments_[next_++];
    } else {
      return Invalid(absl::StrCat("--", option->name, ": needs a value, ", option->value));
    }
    return Annotate(option->apply(value, &settings_), absl::StrCat("--", option->name));
  }

  absl::Status CheckWhole() const {
    if (settings_.help) return absl::OkStatus();
    const auto count = static_cast<int>(settings_.positional.size());
    const int least = command_.positional_count - command_.optional_positionals;
    if (count < least) return Invalid(absl::StrCat("missing: ", command_.positional));
    if (count > command_.positional_count) {
      return Invalid(absl::StrCat("unexpected '", Escaped(settings_.positional.back()), "'"));
    }
    if (settings_.local && !settings_.server.empty()) {
      return Invalid("--local and --server exclude each other");
    }
    if (settings_.only_cached && settings_.no_cache) {
      return Invalid("--only-cached and --no-cache exclude each other");
    }
    for (const char* const name : {"update-lock", "cache"}) {
      if (!Given(name) || !settings_.lock.empty()) continue;
      return Invalid(absl::StrCat("--", name, " needs --lock"));
    }
    if (Given("depfile-target") && settings_.depfile.empty()) {
      return Invalid("--depfile-target needs --depfile");
    }
    for (const char* const name : {"only-cached", "priority", "queue-deadline", "run-deadline"}) {
      if (settings_.local && Given(name)) {
        return Invalid(absl::StrCat("--", name, " is for servers, so not with --local"));
      }
    }
    if (command_.bit == kOptimize && Given("onnxruntime") && !settings_.local) {
      return Invalid("--onnxruntime needs --local: a server has a library of its own");
    }
    if (command_.bit == kOptimize && settings_.no_precedence && !settings_.local) {
      return Invalid("--no-precedence needs --local: a server is started with it");
    }
    if (!settings_.device_snapshot.empty() && Given("device")) {
      return Invalid("--device and --device-snapshot exclude each other");
    }
    if (Given("onnxruntime")) QUOTIENT_RETURN_IF_ERROR(CheckLibraryIsUsed());
    if (settings_.output.empty()) {
      if (command_.bit == kOptimize) return Invalid("missing: -o OUT.onnx");
      if (command_.bit == kSimplify) return Invalid("missing: OUT.onnx");
      if (command_.bit == kSnapshot) return Invalid("missing: -o FILE");
    }
    if (command_.bit == kBisect && settings_.check.empty()) return Invalid("missing: --check CMD");
    QUOTIENT_RETURN_IF_ERROR(CheckInputsStay());
    return settings_.options.Validate();
  }

  // Returns an error if --onnxruntime would change nothing.
  absl::Status CheckLibraryIsUsed() const {
    const std::string& device = settings_.options.device;
    if (!settings_.device_snapshot.empty()) {
      return Invalid("--onnxruntime has no effect with --device-snapshot: nothing is run");
    }
    const optimize::DeviceKind* const kind =
        optimize::FindDeviceKind(optimize::AllDeviceKinds(), device);
    const optimize::DeviceKind* const its_kind =
        optimize::FindDeviceKind(optimize::AllDeviceKinds(), kernels::onnxruntime::kCpuDevice);
    if (kind == nullptr || kind == its_kind || kind->is_name_of_others()) return absl::OkStatus();
    return Invalid(absl::StrCat("--onnxruntime has no effect with --device ", device));
  }

  // Returns an error if an output file is also an input file, but for the result. Weights of the
  // model in files of their own are not known here.
  absl::Status CheckInputsStay() const {
    if (command_.bit == kSubmit) return absl::OkStatus();  // Its --output is only a name.
    const bool reads_model = command_.completion == Completion::kModelFile;
    const bool reads_journal = command_.bit == kReplay && settings_.positional.size() == 2;
    const std::string data = settings_.output.empty() ? "" : settings_.output + ".data";
    const std::pair<absl::string_view, std::string> inputs[] = {
        {command_.positional, reads_model ? settings_.positional[0] : ""},
        {"--device-snapshot", settings_.device_snapshot},
        {"--timings", settings_.timings},
        {"--lock", settings_.update_lock ? "" : settings_.lock},
        {"JOURNAL", reads_journal ? settings_.positional[1] : ""}};
    const std::pair<absl::string_view, std::string> outputs[] = {
        {"--output", settings_.output},
        {"the weights of --output",
         command_.bit == kOptimize || command_.bit == kSimplify ? data : ""},
        {"--report", settings_.report},
        {"--html", settings_.html},
        {"--journal", settings_.journal},
        {"--depfile", settings_.depfile},
        {"--lock", settings_.update_lock ? settings_.lock : ""}};
    for (const auto& [input, from] : inputs) {
      for (const auto& [output, to] : outputs) {
        if (from.empty() || to.empty() || !os::SameFile(from, to)) continue;
        // A model may be optimized in its place: the result replaces it in one step.
        if (input == command_.positional && output == "--output") continue;
        return Invalid(absl::StrCat(input, " and ", output, " are the same file, ", Escaped(to)));
      }
    }
    return absl::OkStatus();
  }

  bool Given(absl::string_view name) const {
    return std::ranges::any_of(seen_,
                               [name](const Option* option) { return option->name == name; });
  }

  const Command& command_;
  const std::span<const char* const> arguments_;
  size_t next_ = 0;
  bool only_positionals_ = false;
  std::set<const Option*> seen_;
  Settings settings_;
};

}  // namespace

absl::StatusOr<Settings> ParseArguments(const Command& command,
                                        std::span<const char* const> arguments) {
  return Parser(command, arguments).Parse();
}

}  // namespace quotient::cli
