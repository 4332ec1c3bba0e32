#include "client/cli/command_table.h"

#include <cstdint>
#include <string>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "core/base/log.h"
#include "core/base/reason.h"

namespace quotient::cli {
namespace {

constexpr unsigned kRun = kOptimize | kSubmit;
constexpr unsigned kRemote = kOptimize | kSubmit | kWatch | kResult | kCancel | kJobs | kInspect;
constexpr unsigned kAll = ~0u;

const Command kCommands[] = {
    {kOptimize,
     "optimize",
     "MODEL.onnx",
     1,
     Completion::kModelFile,
     {},
     "optimize a model and wait for the result",
     "Finds an equivalent, faster model, checks it against the original and measures both. "
     "OUT.onnx\n"
     "is valid whether or not anything faster was found. Weights in files of their own are "
     "written\n"
     "to OUT.onnx.data. Without --server and --local the server is $QUOTIENT_SERVER or\n"
     "127.0.0.1:7070. Ctrl-C cancels the job.",
     {"quotient optimize resnet18.onnx -o fast.onnx",
      "quotient optimize bert.onnx -o fast.onnx --local --budget 2m --report report.json",
      "quotient optimize m.onnx -o fast.onnx --shape input=1,3,224,224 --html report.html",
      "quotient optimize m.onnx -o fast.onnx --device model:h200 --json"}},
    {kSubmit,
     "submit",
     "MODEL.onnx",
     1,
     Completion::kModelFile,
     {},
     "queue a job and print its name",
     "The job goes on without us; see watch and result. -o fixes the name of a data file that the\n"
     "result may need: OUT.onnx.data.",
     {"job=$(quotient submit resnet18.onnx --budget 5m)", "quotient submit m.onnx --json"}},
    {kWatch,
     "watch",
     "JOB",
     1,
     Completion::kNothing,
     {},
     "follow a job until it ends",
     "Attaches again if the server goes away for a while. Ctrl-C leaves the job alone.",
     {"quotient watch jobs/0f3c2b1a9d8e7f605142",
      "quotient watch jobs/0f3c2b1a9d8e7f605142 --json"}},
    {kResult,
     "result",
     "JOB",
     1,
     Completion::kNothing,
     {},
     "fetch the result of a job that has ended",
     "Prints the cost report; with -o writes the model as well.",
     {"quotient result jobs/0f3c2b1a9d8e7f605142 -o fast.onnx",
      "quotient result jobs/0f3c2b1a9d8e7f605142 --json > report.json"}},
    {kCancel,
     "cancel",
     "JOB",
     1,
     Completion::kNothing,
     {},
     "end a job for everybody who waits for it",
     "A job that has ended stays as it is.",
     {"quotient cancel jobs/0f3c2b1a9d8e7f605142"}},
    {kJobs,
     "jobs",
     "",
     0,
     Completion::kNothing,
     {},
     "list the newest jobs",
     "One line per job: name, state, age, model.",
     {"quotient jobs", "quotient jobs --state running", "quotient jobs --limit 500 --json"}},
    {kInspect,
     "inspect",
     "MODEL.onnx",
     1,
     Completion::kModelFile,
     {},
     "say what is in a model, without optimizing it",
     "Prints JSON: nodes by operator, inputs, outputs, opset, operators that are left alone.",
     {"quotient inspect m.onnx", "quotient inspect m.onnx --local"}},
    {kVersion,
     "version",
     "",
     0,
     Completion::kNothing,
     {},
     "print the version",
     "Of the program and of the engine within.",
     {"quotient version"}},
    {kCompletion,
     "completion",
     "bash|zsh|fish",
     1,
     Completion::kChoices,
     {"bash", "zsh", "fish"},
     "print a shell's completion script",
     "To be read by the shell when it starts.",
     {"source <(quotient completion bash)", "quotient completion zsh > \"${fpath[1]}/_quotient\"",
      "quotient completion fish > ~/.config/fish/completions/quotient.fish"}},
};

absl::Status Invalid(absl::string_view problem) {
  return MakeError(Reason::kOptionInvalid, problem);
}

template <typename Integer>
absl::Status SetInteger(absl::string_view text, Integer* field) {
  if (absl::SimpleAtoi(text, field)) return absl::OkStatus();
  return Invalid(absl::StrCat("'", Escaped(text), "' is not a whole number in range"));
}

absl::Status SetText(absl::string_view text, std::string* field) {
  if (text.empty()) return Invalid("is empty");
  *field = std::string(text);
  return absl::OkStatus();
}

absl::Status Set(bool* field) {
  *field = true;
  return absl::OkStatus();
}

using S = Settings;
using V = absl::string_view;

const Option kOptions[] = {
    {"output",
     'o',
     "OUT.onnx",
     kRun | kResult,
     false,
     Completion::kModelFile,
     {},
     "where the optimized model goes; replaced as a whole or not at all",
     [](V value, S* s) { return SetText(value, &s->output); }},
    {"server",
     0,
     "ADDRESS",
     kRemote,
     false,
     Completion::kNothing,
     {},
     "HOST:PORT of the server; default $QUOTIENT_SERVER, else 127.0.0.1:7070",
     [](V value, S* s) { return SetText(value, &s->server); }},
    {"local",
     0,
     nullptr,
     kOptimize | kInspect,
     false,
     Completion::kNothing,
     {},
     "work in this process, without a server",
     [](V, S* s) { return Set(&s->local); }},
    {"report",
     0,
     "R.json",
     kOptimize | kResult,
     false,
     Completion::kFile,
     {},
     "write the cost report as JSON",
     [](V value, S* s) { return SetText(value, &s->report); }},
    {"html",
     0,
     "R.html",
     kOptimize | kResult,
     false,
     Completion::kFile,
     {},
     "write the cost report as a page",
     [](V value, S* s) { return SetText(value, &s->html); }},
    {"budget",
     0,
     "TIME",
     kRun,
     false,
     Completion::kNothing,
     {},
     "bound of the search, e.g. 30s or 2m, default 30s; checking and measuring come on top",
     [](V value, S* s) { return optimize::ParseDuration(value, &s->options.budget_seconds); }},
    {"max-nodes",
     0,
     "N",
     kRun,
     false,
     Completion::kNothing,
     {},
     "bound of the e-graph, in e-nodes, default 50000",
     [](V value, S* s) { return SetInteger(value, &s->options.max_nodes); }},
    {"strategy",
     0,
     "NAME",
     kRun,
     false,
     Completion::kChoices,
     {"mcts", "saturate", "pact", "backtrack"},
     "how the e-graph is grown: mcts (default), saturate, pact, backtrack",
     [](V value, S* s) { return SetText(value, &s->options.strategy); }},
    {"device",
     0,
     "NAME",
     kRun,
     false,
     Completion::kChoices,
     {"cpu", "model:h200", "model:h200-strict32"},
     "what to optimize for: cpu is measured, model:h200 is an analytic model; with -strict32 its "
     "float32 stays float32 instead of tf32",
     [](V value, S* s) { return SetText(value, &s->options.device); }},
    {"threads",
     0,
     "N",
     kRun,
     false,
     Completion::kNothing,
     {},
     "threads for kernels, checking and measuring; 0: one per core",
     [](V value, S* s) { return SetInteger(value, &s->options.threads); }},
    {"seed",
     0,
     "N",
     kRun,
     false,
     Completion::kNothing,
     {},
     "seed of everything random",
     [](V value, S* s) { return SetInteger(value, &s->options.seed); }},
    {"max-opset",
     0,
     "N",
     kRun,
     false,
     Completion::kNothing,
     {},
     "newest opset the result may need; 0: the model's own or 20",
     [](V value, S* s) { return SetInteger(value, &s->options.max_opset); }},
    {"shape",
     0,
     "NAME=DIMS",
     kRun,
     true,
     Completion::kNothing,
     {},
     "bind an input's shape for good, e.g. input=1,3,224,224",
     [](V value, S* s) { return optimize::ParseShapeOption(value, &s->options.shapes); }},
    {"measure-shape",
     0,
     "NAME=DIMS",
     kRun,
     true,
     Completion::kNothing,
     {},
     "bind an input's shape for measuring and checking only",
     [](V value, S* s) { return optimize::ParseShapeOption(value, &s->options.measure_shapes); }},
    {"disable-rule",
     0,
     "NAME",
     kRun,
     true,
     Completion::kNothing,
     {},
     "do without this rule, by the name that reports show",
     [](V value, S* s) { return SetText(value, &s->options.disabled_rules.emplace_back()); }},
    {"no-cache",
     0,
     nullptr,
     kRun,
     false,
     Completion::kNothing,
     {},
     "do not reuse the result of an equal job",
     [](V, S* s) { return Set(&s->no_cache); }},
    {"patience",
     0,
     "TIME",
     kRemote,
     false,
     Completion::kNothing,
     {},
     "how long to wait for a server that went away; default 60s",
     [](V value, S* s) { return optimize::ParseDuration(value, &s->patience_seconds); }},
    {"state",
     0,
     "STATE",
     kJobs,
     false,
     Completion::kChoices,
     {"queued", "running", "cancelling", "succeeded", "failed", "cancelled"},
     "only jobs in this state",
     [](V value, S* s) { return SetText(value, &s->state); }},
    {"limit",
     0,
     "N",
     kJobs,
     false,
     Completion::kNothing,
     {},
     "list at most so many; default 20",
     [](V value, S* s) { return SetInteger(value, &s->limit); }},
    {"json",
     0,
     nullptr,
     kRemote | kVersion,
     false,
     Completion::kNothing,
     {},
     "print JSON for programs",
     [](V, S* s) { return Set(&s->json); }},
    {"help",
     'h',
     nullptr,
     kAll,
     false,
     Completion::kNothing,
     {},
     "print this and exit",
     [](V, S* s) { return Set(&s->help); }},
};

}  // namespace

std::span<const Command> Commands() { return kCommands; }

std::span<const Option> Options() { return kOptions; }

const Command* FindCommand(absl::string_view name) {
  for (const Command& command : kCommands) {
    if (name == command.name) return &command;
  }
  return nullptr;
}

}  // namespace quotient::cli
