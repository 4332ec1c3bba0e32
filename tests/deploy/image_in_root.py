#!/usr/bin/env python3
"""Makes the last stage of the Dockerfile in a root of Debian, and uses it as a container would be used: for
machines without an engine. Needs root, and a root such as `debootstrap --variant=minbase bookworm ROOT` makes.

    image_in_root.py ROOT PACKAGES MODEL.onnx      PACKAGES is the output of deploy/package.sh

The stage's RUN changes ROOT. Then the server runs as the image's user with the image's command line, in a root
that is read-only but for /tmp and the volume, until the health check finds it well; a client optimizes MODEL.onnx
with it, and a backup is taken and restored.
"""

import argparse
import contextlib
import pathlib
import re
import signal
import subprocess
import sys
import time

import image

PATIENCE_SECONDS = 120


def mounted(stack, *arguments):
    target = arguments[-1]
    pathlib.Path(target).mkdir(parents=True, exist_ok=True)
    subprocess.run(["mount", *map(str, arguments)], check=True)
    stack.callback(subprocess.run, ["umount", "--lazy", str(target)], check=True)


def make(root, packages):
    """What the engine does for the stage's RUN."""
    command = re.sub(r"--mount=\S+\s*", "", image.instruction("RUN"))
    with contextlib.ExitStack() as stack:
        mounted(stack, "--bind", packages, root / "packages")
        for folder in ("proc", "dev"):
            mounted(stack, "--rbind", f"/{folder}", root / folder)
        subprocess.run(["chroot", root, "/bin/sh", "-c", command], check=True)
    (root / "packages").rmdir()


def as_user(root, *command):
    user = image.instruction("USER")
    group = subprocess.run(["chroot", root, "id", "--group", user], capture_output=True, text=True, check=True).stdout
    return ["chroot", f"--userspec={user}:{group.strip()}", root, "env", "--ignore-environment",
            "PATH=/usr/local/bin:/usr/bin:/bin", "HOME=/nonexistent", *command]


def use(root, model):
    volume = root / image.instruction("VOLUME").lstrip("/")
    with contextlib.ExitStack() as stack:
        # Below a mount point of its own, which can be made read-only.
        view = root.with_name(root.name + ".view")
        mounted(stack, "--bind", root, view)
        for folder in ("proc", "sys", "dev"):
            mounted(stack, "--rbind", f"/{folder}", view / folder)
        mounted(stack, "-t", "tmpfs", "tmpfs", view / "tmp")
        mounted(stack, "--bind", volume, view / volume.relative_to(root))
        subprocess.run(["mount", "-o", "remount,bind,ro", view], check=True)
        (view / "tmp/model.onnx").write_bytes(model.read_bytes())
        (view / "tmp").chmod(0o1777)
        if subprocess.run(as_user(view, "touch", "/usr/file"), stderr=subprocess.DEVNULL, check=False).returncode == 0:
            sys.exit("the root is not read-only")

        with subprocess.Popen(as_user(view, *image.server_command())) as server:
            try:
                deadline = time.monotonic() + PATIENCE_SECONDS
                while subprocess.run(as_user(view, *image.health_command()), capture_output=True, check=False).returncode:
                    if server.poll() is not None or time.monotonic() > deadline:
                        sys.exit("the server does not become healthy")
                    time.sleep(0.2)
                subprocess.run(as_user(view, "quotient", "optimize", "/tmp/model.onnx", "-o", "/tmp/out.onnx", "--server",
                                       "127.0.0.1:8980", "--budget", "6s"), check=True)
                data = image.instruction("VOLUME")
                subprocess.run(as_user(view, "bash", "-c", f"set -e; quotient-backup {data} >/tmp/q.tar; "
                                       "quotient-restore /tmp/restored </tmp/q.tar; ls /tmp/restored"), check=True)
            finally:
                server.send_signal(signal.SIGTERM)
        print(f"the server ended with {server.returncode}")
        if server.returncode != 0:
            sys.exit(1)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    for name in ("root", "packages", "model"):
        parser.add_argument(name, type=pathlib.Path)
    arguments = parser.parse_args()
    make(arguments.root.resolve(), arguments.packages.resolve())
    use(arguments.root.resolve(), arguments.model.resolve())


if __name__ == "__main__":
    main()
