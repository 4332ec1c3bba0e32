"""Which program optimizes models, and which server.

In WORKSPACE:

    load("@quotient_builds//:toolchain.bzl", "installed_quotient")

    installed_quotient(name = "quotient", server = "optimizer.example:8980")

    register_toolchains("@quotient//:toolchain")
"""

TOOLCHAIN = "@quotient_builds//:toolchain_type"

def _quotient_toolchain_impl(ctx):
    info = struct(program = ctx.executable.program, server = ctx.attr.server)
    return [platform_common.ToolchainInfo(quotient = info)]

quotient_toolchain = rule(
    implementation = _quotient_toolchain_impl,
    doc = "To be named by a toolchain() of the type @quotient_builds//:toolchain_type.",
    attrs = {
        "program": attr.label(
            doc = "The program `quotient`.",
            mandatory = True,
            allow_single_file = True,
            executable = True,
            cfg = "exec",
        ),
        "server": attr.string(doc = "HOST:PORT of a quotientd. If it is empty, the build itself optimizes."),
    },
)

_BUILD = """
load("@quotient_builds//:toolchain.bzl", "quotient_toolchain")

quotient_toolchain(name = "here", program = "quotient", server = "{server}")

toolchain(name = "toolchain", toolchain = ":here", toolchain_type = "{type}")
"""

def _installed_quotient_impl(repository_ctx):
    path = repository_ctx.attr.path
    program = repository_ctx.path(path) if path else repository_ctx.which("quotient")
    if program == None:
        fail("quotient is not in PATH. The attribute path names it.")
    repository_ctx.symlink(program, "quotient")
    repository_ctx.file("BUILD", _BUILD.format(server = repository_ctx.attr.server, type = TOOLCHAIN))

installed_quotient = repository_rule(
    implementation = _installed_quotient_impl,
    doc = "A toolchain with the program that is installed on this machine: @NAME//:toolchain.",
    attrs = {
        "path": attr.string(doc = "The program. By default the one in PATH."),
        "server": attr.string(doc = "HOST:PORT of a quotientd. If it is empty, the build itself optimizes."),
    },
    environ = ["PATH"],
    local = True,
)
