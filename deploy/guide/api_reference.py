#!/usr/bin/env python3
"""Writes the reference of the API, API.md, from the comments of the .proto files.

    deploy/guide/api_reference.py [--check]

--check  writes nothing, and fails if the page is not current

Needs protoc, and protobuf for Python: build/deps/tests/bin/python3 has it.
"""

import argparse
import pathlib
import re
import subprocess
import sys
import tempfile

from google.protobuf import descriptor_pb2

HERE = pathlib.Path(__file__).resolve().parent
PROTO = HERE.parents[1] / "proto"
PAGE = HERE / "API.md"
PACKAGE = "quotient.v1"
# Numbers of fields of descriptors, of which the paths of source locations consist.
MESSAGE, ENUM, SERVICE = 4, 5, 6  # Of a file.
FIELD, NESTED, NESTED_ENUM = 2, 3, 4  # Of a message.
MEMBER = 2  # A method of a service, or a value of an enum.
Field = descriptor_pb2.FieldDescriptorProto

HEAD = """# The API: quotient.v1

Written by `deploy/guide/api_reference.py` from the comments in [proto/quotient/v1](../../proto/README.md); a test finds it
out of date. That page has the rules that hold for all calls: errors, retries, versions.

"""


def read_files():
    """Descriptors of all .proto files of the package, with their comments."""
    names = sorted(str(path.relative_to(PROTO)) for path in (PROTO / PACKAGE.replace(".", "/")).glob("*.proto"))
    with tempfile.NamedTemporaryFile() as out:
        subprocess.run(["protoc", f"-I{PROTO}", "--include_source_info", f"--descriptor_set_out={out.name}", *names],
                       check=True)
        return descriptor_pb2.FileDescriptorSet.FromString(out.read()).file


class Comments:
    """Comments of a file, by the path of what they belong to."""

    def __init__(self, file):
        self.locations = {tuple(location.path): location for location in file.source_code_info.location}

    def of(self, *path, trailing_is="{}"):
        """What stands before it, and what stands behind it on its line."""
        location = self.locations.get(path)
        if location is None:
            return ""
        before, behind = location.leading_comments, location.trailing_comments
        return "\n".join(filter(None, (before, behind and (trailing_is.format(behind.strip()) if before else behind))))


def escaped(text):
    """As text of Markdown. What is in backticks stays."""
    parts = re.split(r"(`[^`]*`)", text)
    return "".join(part if part.startswith("`") else re.sub(r"([<>*|\\])", r"\\\1", part) for part in parts)


def paragraphs(comment):
    """A comment as paragraphs of Markdown; lines that are indented stay as they are."""
    out, block = [], []

    def finish():
        if not block:
            return
        if any(line.startswith("   ") for line in block):
            out.append("```\n" + "\n".join(line.removeprefix(" ") for line in block) + "\n```")
        else:
            out.append(escaped(" ".join(line.strip() for line in block)))
        block.clear()

    for line in comment.splitlines():
        if not line.strip():
            finish()
            continue
        if block and line.startswith("   ") != block[-1].startswith("   "):
            finish()
        block.append(line)
    finish()
    return "\n\n".join(out)


def cell(comment):
    """A comment in one line, for a table."""
    return escaped(" ".join(comment.split()))


def type_of(field, entries):
    scalar = Field.Type.Name(field.type).removeprefix("TYPE_").lower()
    named = field.type_name.removeprefix(f".{PACKAGE}.").removeprefix(".")
    if field.type_name in entries:
        key, value = entries[field.type_name].field
        return f"map of {type_of(key, {})} to {type_of(value, {})}"
    name = f"`{named or scalar}`"
    if field.label == Field.LABEL_REPEATED:
        return f"list of {name}"
    return f"{name}, optional" if field.proto3_optional else name


def enum_text(enum, name, comments, path):
    rows = [f"| `{value.name}` | {value.number} | {cell(comments.of(*path, MEMBER, i))} |"
            for i, value in enumerate(enum.value)]
    return "\n".join([f"### {name}\n", paragraphs(comments.of(*path)), "| value | number | meaning |",
                      "| --- | --- | --- |", *rows, ""]).replace("\n\n|", "\n|").replace(f"### {name}\n|", f"### {name}\n\n|")


def message_text(message, name, comments, path):
    entries = {f".{PACKAGE}.{name}.{nested.name}": nested for nested in message.nested_type
               if nested.options.map_entry}
    parts = [f"### {name}"]
    if about := paragraphs(comments.of(*path)):
        parts.append(about)
    rows = []
    for i, field in enumerate(message.field):
        # Where all fields are optional, as in OptimizeOptions, what stands behind one is its default.
        about = cell(comments.of(*path, FIELD, i, trailing_is="Default: {}." if field.proto3_optional else "{}"))
        if field.HasField("oneof_index") and not field.proto3_optional:
            about = f"One of *{message.oneof_decl[field.oneof_index].name}*. {about}".strip()
        rows.append(f"| `{field.name}` | {type_of(field, entries)} | {field.number} | {about} |")
    parts.append("\n".join(["| field | type | number | meaning |", "| --- | --- | --- | --- |", *rows])
                 if rows else "No fields.")
    for i, nested in enumerate(message.nested_type):
        if not nested.options.map_entry:
            parts.append(message_text(nested, f"{name}.{nested.name}", comments, (*path, NESTED, i)))
    for i, enum in enumerate(message.enum_type):
        parts.append(enum_text(enum, f"{name}.{enum.name}", comments, (*path, NESTED_ENUM, i)).rstrip())
    return "\n\n".join(parts)


def service_text(service, comments, path):
    parts = [f"## {service.name}"]
    if about := paragraphs(comments.of(*path)):
        parts.append(about)
    for i, method in enumerate(service.method):
        def named(name, is_stream):
            return ("stream of " if is_stream else "") + f"`{name.removeprefix(f'.{PACKAGE}.')}`"
        parts.append(f"### {service.name}.{method.name}")
        parts.append(f"{named(method.input_type, method.client_streaming)} -> "
                     f"{named(method.output_type, method.server_streaming)}")
        parts.append(paragraphs(comments.of(*path, MEMBER, i)))
    return "\n\n".join(filter(None, parts))


def page():
    services, types = [], []
    for file in read_files():
        comments = Comments(file)
        services += [service_text(service, comments, (SERVICE, i)) for i, service in enumerate(file.service)]
        for i, enum in enumerate(file.enum_type):
            types.append((enum.name, enum_text(enum, enum.name, comments, (ENUM, i)).rstrip()))
        for i, message in enumerate(file.message_type):
            types.append((message.name, message_text(message, message.name, comments, (MESSAGE, i))))
    ordered = [text for _, text in sorted(types)]
    return HEAD + "\n\n".join([*services, "## Messages", *ordered]) + "\n"


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--check", action="store_true", help="fail if the page is not current")
    text = page()
    if parser.parse_args().check:
        if not PAGE.is_file() or PAGE.read_text() != text:
            print(f"{PAGE} is not current: run deploy/guide/api_reference.py", file=sys.stderr)
            return 1
        return 0
    PAGE.write_text(text)
    return 0


if __name__ == "__main__":
    sys.exit(main())
