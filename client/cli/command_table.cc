#include "client/cli/command_table.h"

namespace quotient::cli {
namespace {

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
      "quotient optimize m.onnx -o fast.onnx --device model:h200 --json",
      "quotient optimize m.onnx -o fast.onnx --device-snapshot thatbox.snapshot"}},
    {kSubmit,
     "submit",
     "MODEL.onnx",
     1,
     Completion::kModelFile,
     {},
     "queue a job and print its name",
     "The job goes on without this command; see watch and result, which writes the model.",
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
    {kStop,
     "stop",
     "JOB",
     1,
     Completion::kNothing,
     {},
     "let a job finish now, with the best result that it has",
     "The result is checked and measured as any other, which takes a while: see watch and result.\n"
     "Equal jobs do not get it, but run anew. A waiting job finishes soon after its turn has come.",
     {"quotient stop jobs/0f3c2b1a9d8e7f605142"}},
    {kDelete,
     "delete",
     "JOB",
     1,
     Completion::kNothing,
     {},
     "remove a job that has ended, and its result",
     "Its files go within a day or two, unless another job has them. Servers remove jobs by "
     "themselves\n"
     "when nobody has asked for their result for a month, or as the server's --keep-days says.",
     {"quotient delete jobs/0f3c2b1a9d8e7f605142"}},
    {kJobs,
     "jobs",
     "",
     0,
     Completion::kNothing,
     {},
     "list the newest jobs",
     "One line per job: its name, its state, the time since it was submitted, the model's file "
     "name,\n"
     "the device, and what that is: the library with its version, and the hardware. Jobs that are\n"
     "not measured, as for model:h200, have the device's name alone.",
     {"quotient jobs", "quotient jobs --state running", "quotient jobs --model m.onnx --since 2h",
      "quotient jobs --limit 500 --json"}},
    {kInspect,
     "inspect",
     "MODEL.onnx",
     1,
     Completion::kModelFile,
     {},
     "say what is in a model, without optimizing it",
     "Prints JSON: nodes by operator, inputs, outputs, opset, operators that are left alone. Asks "
     "a "
     "server, unless --local is given.",
     {"quotient inspect m.onnx", "quotient inspect m.onnx --local"}},
    {kValidate,
     "validate",
     "MODEL.onnx",
     1,
     Completion::kModelFile,
     {},
     "say whether a job would optimize a model, without queueing one",
     "Takes the options of 'quotient optimize'. Fails as the job would if the model is refused. "
     "The "
     "exit\n"
     "code is 0 if the job would look for a faster model, and 1 if it would return the model as "
     "it\n"
     "came. Asks a server, unless --local is given.",
     {"quotient validate m.onnx", "quotient validate m.onnx --shape input=1,3,224,224 --json",
      "quotient validate m.onnx --local"}},
    {kVerify,
     "verify",
     "JOB",
     1,
     Completion::kNothing,
     {},
     "compare the result of a job with its model once more",
     "On a server, on as many sets of random inputs as --verify-inputs says, of another seed if "
     "--seed\n"
     "is given; see 'quotient check'. The exit code is 0 if they are the same and 1 if they are "
     "not.",
     {"quotient verify jobs/0f3c2b1a9d8e7f605142 --seed 7 --verify-inputs 8"}},
    {kReplay,
     "replay",
     "MODEL.onnx JOURNAL | JOB",
     2,
     Completion::kFile,
     {},
     "make a result once more from its model and its journal",
     "Makes the rewrites that the journal of the result lists (--journal of 'quotient optimize'), "
     "each\n"
     "of which must match at its place, and compares the files with those of the result. Needs no\n"
     "device and no search. With MODEL and JOURNAL in this process, by the version that made the\n"
     "journal; with JOB on the server that has it. The exit code is 0 if the result follows from "
     "the\n"
     "model by the journal, and 1 if it does not.",
     {"quotient replay m.onnx m.journal -o fast.onnx",
      "quotient replay jobs/0f3c2b1a9d8e7f605142 --json"},
     /*optional_positionals=*/1},
    {kProfile,
     "profile",
     "MODEL.onnx",
     1,
     Completion::kModelFile,
     {},
     "compare what a model is predicted to take with what it takes",
     "Predicts the model's kernels, as 'quotient optimize --local' does, and runs the model in "
     "this\n"
     "process. Prints what was predicted and what was measured, of the whole, of each operator "
     "and\n"
     "of each kernel inside of a run, where the device tells kernels apart. Equal kernels are one\n"
     "line, and the widest gap comes first.",
     {"quotient profile resnet18.onnx --threads 1",
      "quotient profile bert.onnx --device onnxruntime --html profile.html",
      "quotient profile m.onnx --measure-shape ids=1,64 --json"}},
    {kExplain,
     "explain",
     "MODEL.onnx",
     1,
     Completion::kModelFile,
     {},
     "say what ONNX Runtime makes of a model, what it does not, and why",
     "Runs the job of 'quotient optimize' and writes no model. Prints whether anything can still "
     "be\n"
     "gained, what ONNX Runtime did not fuse and what kept it from that (the order of operands, "
     "the\n"
     "shape of a constant, an axis, a number of channels), what Quotient did about each, the "
     "kernels\n"
     "that are farthest from the peak of the machine, what was fused, and the rewrites that ONNX\n"
     "Runtime makes itself or undoes. The page of --html is the report of the job, with all of it "
     "as\n"
     "a chapter. Without --server and --local the server is $QUOTIENT_SERVER or 127.0.0.1:7070.",
     {"quotient explain resnet18.onnx", "quotient explain bert.onnx --local --threads 1",
      "quotient explain m.onnx --local --json", "quotient explain m.onnx --html report.html"}},
    {kSnapshot,
     "snapshot",
     "",
     0,
     Completion::kNothing,
     {},
     "write what was measured of a device here to a file",
     "With the file --device-snapshot optimizes for this device on machines that do not have it, "
     "and\n"
     "with the same costs each time. Holds the times of the kernels that were measured by\n"
     "'quotient optimize --local', at that number of threads. Without --threads, and where nothing "
     "was\n"
     "measured with all cores because other work had them, those of one thread. Those are noisy "
     "that were\n"
     "timed while other work never left the machine quiet.",
     {"quotient snapshot -o thisbox.snapshot", "quotient snapshot --device cuda -o gpu.snapshot",
      "quotient snapshot --threads 4 --timings quotient-data/timings.db -o server.snapshot"}},
    {kBisect,
     "bisect",
     "MODEL.onnx",
     1,
     Completion::kModelFile,
     {},
     "find the rule whose rewrite a check of yours objects to",
     "Optimizes the model in this process, without more and fewer of the rules, and runs CMD with "
     "the\n"
     "path of each result. Prints the rule to do without, and the nodes that it rewrote. Each "
     "trial\n"
     "takes up to --budget. Where costs are measured, trials differ by noise; --device model:h200 "
     "or a\n"
     "snapshot make them equal.",
     {"quotient bisect m.onnx --check ./test.sh --budget 10s",
      "quotient bisect m.onnx --check 'python3 test.py --model' --device model:h200 --json"}},
    {kSimplify,
     "simplify",
     "MODEL.onnx [OUT.onnx]",
     2,
     Completion::kModelFile,
     {},
     "make a model smaller without a device: nothing is timed",
     "Computes what is constant, removes what changes nothing, merges scales and shifts into\n"
     "weights, and writes the types of inner values. Inputs, outputs, open dimensions and the "
     "names\n"
     "of what stays are kept, and the opset unless --max-opset allows more. Equal models give "
     "equal\n"
     "bytes. OUT is checked against the model as results of 'quotient optimize' are; it has no "
     "more\n"
     "operators and is not predicted to take longer on one core. Works in this process.",
     {"quotient simplify model.onnx simplified.onnx",
      "quotient simplify model.onnx -o simplified.onnx --keep /encoder/output --json",
      "quotient simplify m.onnx -o s.onnx --shape input=1,3,224,224 --max-bytes-folded 65536"},
     /*optional_positionals=*/1},
    {kCheck,
     "check",
     "FIRST.onnx SECOND.onnx",
     2,
     Completion::kModelFile,
     {},
     "compare two models: does the second compute what the first does",
     "Compares inputs and outputs by name, type and order, and then values, on random inputs and "
     "at\n"
     "several sizes, as results of 'quotient optimize' are compared with their original. If they\n"
     "differ, prints where, and the first value under one name in both that is not the same. The\n"
     "exit code is 0 if they are the same and 1 if they are not. Works in this process.",
     {"quotient check model.onnx simplified.onnx", "quotient check a.onnx b.onnx --json",
      "quotient check a.onnx b.onnx --verify-inputs 8 --measure-shape ids=1,64"}},
    {kRules,
     "rules",
     "[RULE]",
     1,
     Completion::kNothing,
     {},
     "list the rewrite rules: how each is known to be right, what each was worth",
     "One line per rule: its name, its certificate, in how many random graphs both sides were\n"
     "compared, in how many with symbols for sizes, and its equation. 'exact' are rules whose\n"
     "sides were equal without any rounding; 'exact for any function' those that also hold\n"
     "whatever their functions are; 'numeric' those that rely on what a function is, or that "
     "round,\n"
     "and were compared in floats.\n"
     "\n"
     "With --stats instead: what each rule did and saved in the jobs so far, for each device.\n"
     "'jobs' are those in which it had a match, 'won' those whose result it is used in. 'matches'\n"
     "were applied, and those 'applied' that changed the e-graph; 'uses' are rewrites in results.\n"
     "'saved' is the mean share of the original's predicted cost that was saved where it rewrote,\n"
     "alone or with other rules, and 'alone' the part of it where no other rule did.\n"
     "\n"
     "With RULE, all of that rule: its family and equation, its text with the guards, its "
     "certificate,\n"
     "and what it did and saved so far.",
     {"quotient rules", "quotient rules max-relu", "quotient rules --json",
      "quotient rules --stats", "quotient rules --stats-from quotient-data/rules.db --json"},
     /*optional_positionals=*/1},
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

}  // namespace

std::span<const Command> Commands() { return kCommands; }

const Command* FindCommand(absl::string_view name) {
  for (const Command& command : kCommands) {
    if (name == command.name) return &command;
  }
  return nullptr;
}

}  // namespace quotient::cli
