"""Rules that optimize ONNX models with Quotient: see ../README.md.

    load("@quotient_builds//:quotient.bzl", "quotient_optimize")

    quotient_optimize(
        name = "fast",
        model = "model.onnx",
        lock = "model.onnx.lock",  # `bazel run //:fast_update_lock` writes it.
        options = ["--budget", "60s"],
    )

makes fast.onnx, and in the output group "report" fast.json. The result is the one that the lock file pins, so it
depends on the inputs alone, and Bazel may take it from any of its caches. A server is asked where none has it.
"""

load(":toolchain.bzl", "TOOLCHAIN")

_SCRIPT = attr.label(default = ":optimize.sh", allow_single_file = True)

# What the two rules below have in common.
_ATTRS = {
    "model": attr.label(mandatory = True, allow_single_file = [".onnx"]),
    "data": attr.label_list(allow_files = True),
    "snapshot": attr.label(allow_single_file = True),
    "options": attr.string_list(),
    "result_name": attr.string(mandatory = True),
    "_script": _SCRIPT,
}

def _quoted(words):
    return " ".join(["'" + word.replace("'", "'\\''") + "'" for word in words])

def _path(file):
    return file.path

def _short_path(file):
    return file.short_path

def _job(ctx, path_of, result):
    """The words of a call of optimize.sh, and the files that it needs. `path_of` is where it finds a file."""
    toolchain = ctx.toolchains[TOOLCHAIN].quotient
    model = [ctx.file.model] + ctx.files.data
    words = [path_of(ctx.file._script), ctx.attr.result_name, result] + [path_of(file) for file in model]
    words += ["--", path_of(toolchain.program)]
    words += ["--server", toolchain.server] if toolchain.server else ["--local"]
    inputs = model + [ctx.file._script, toolchain.program]
    if ctx.file.snapshot:
        words += ["--device-snapshot", path_of(ctx.file.snapshot)]
        inputs.append(ctx.file.snapshot)
    return struct(words = words + ctx.attr.options, inputs = inputs, needs_network = bool(toolchain.server))

def _optimized_impl(ctx):
    if ctx.files.data:
        result = ctx.actions.declare_directory(ctx.label.name)
    else:
        result = ctx.actions.declare_file(ctx.attr.result_name)
    report = ctx.actions.declare_file(ctx.label.name + ".json")
    job = _job(ctx, _path, result.path)
    words = job.words + ["--lock", ctx.file.lock.path, "--report", report.path]
    if ctx.attr.require_improvement:
        words += ["--require-improvement", ctx.attr.require_improvement]
    ctx.actions.run_shell(
        command = _quoted(words),
        inputs = job.inputs + [ctx.file.lock],
        outputs = [result, report],
        mnemonic = "QuotientOptimize",
        progress_message = "Optimizing %s" % ctx.file.model.short_path,
        execution_requirements = {"requires-network": "1"} if job.needs_network else {},
    )
    return [
        DefaultInfo(files = depset([result])),
        OutputGroupInfo(report = depset([report])),
    ]

_quotient_optimized = rule(
    implementation = _optimized_impl,
    attrs = dict(
        _ATTRS,
        lock = attr.label(mandatory = True, allow_single_file = True),
        require_improvement = attr.string(),
    ),
    toolchains = [TOOLCHAIN],
)

def _update_lock_impl(ctx):
    job = _job(ctx, _short_path, "")
    lock = "\"$BUILD_WORKSPACE_DIRECTORY\"/" + _quoted([ctx.attr.lock])
    launcher = ctx.actions.declare_file(ctx.label.name)
    ctx.actions.write(
        launcher,
        "#!/bin/sh\nexec %s --update-lock --lock %s\n" % (_quoted(job.words), lock),
        is_executable = True,
    )
    return [DefaultInfo(executable = launcher, runfiles = ctx.runfiles(files = job.inputs))]

_quotient_update_lock = rule(
    implementation = _update_lock_impl,
    attrs = dict(_ATTRS, lock = attr.string(mandatory = True)),
    toolchains = [TOOLCHAIN],
    executable = True,
)

def quotient_optimize(
        name,
        model,
        lock,
        data = [],
        snapshot = None,
        require_improvement = "",
        options = [],
        **kwargs):
    """Optimizes a model.

    Args:
      name: the result is NAME.onnx, or with `data` the folder NAME, which has NAME.onnx and its weights
      model: the file MODEL.onnx
      lock: the lock file, as a path from this package; NAME_update_lock writes it
      data: the files of the model's external data, which lie in the folder of the model or below it
      snapshot: the device, as `quotient snapshot` recorded it
      require_improvement: how much the result has to gain, in per cent; else the build fails
      options: further options of `quotient optimize`, such as --device and --budget
      **kwargs: attributes of all rules, such as visibility
    """
    job = dict(
        model = model,
        data = data,
        snapshot = snapshot,
        options = options,
        result_name = name + ".onnx",
    )
    _quotient_optimized(
        name = name,
        lock = lock,
        require_improvement = require_improvement,
        **dict(job, **kwargs)
    )
    package = native.package_name()
    _quotient_update_lock(
        name = name + "_update_lock",
        lock = (package + "/" if package else "") + lock,
        tags = ["manual"],
        **job
    )
