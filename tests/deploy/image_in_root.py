#!/usr/bin/env python3
"""Makes an image of the Dockerfile in a root of Debian, and uses it as a container would be used: for machines
without an engine. Needs root, and a root such as `debootstrap --variant=minbase bookworm ROOT` makes.

    unshare --mount tests/deploy/image_in_root.py ROOT PACKAGES MODEL.onnx [--cuda DEPS NVIDIA]

PACKAGES is the output of deploy/package.sh. With --cuda the image is the one with CUDA: DEPS is build/deps after
deploy/setup/install.sh --with-cuda, NVIDIA what deploy/package.sh --nvidia has written. ROOT is changed. Then the server runs as the image's user with the
image's command line, in a root that is read-only but for /tmp and the volume, until the health check finds it well;
a client optimizes MODEL.onnx with it, and a backup is taken and restored. With CUDA, all libraries have to load:
where there is no driver, that is all that is missed.
"""

import argparse
import contextlib
import glob
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


def copy(root, source, target):
    """What the engine does for COPY: of a folder, all that is in it."""
    to = root / target.lstrip("/")
    to.mkdir(parents=True, exist_ok=True)
    files = glob.glob(source) if "*" in source else [f"{source}/."]
    subprocess.run(["cp", "-R", *files, to], check=True)


def make(root, stage, packages, places):
    """What the engine does for the RUN and COPY of a stage. `places` has what folders of other stages are here."""
    for word, text in image.instructions(stage):
        if word == "COPY":
            _, source, target = text.split()
            (there,) = (folder for folder in places if source.startswith(folder))
            copy(root, source.replace(there, str(places[there]), 1), target)
        elif word == "RUN":
            with contextlib.ExitStack() as stack:
                mounted(stack, "--bind", packages, root / "packages")
                for folder in ("proc", "dev"):
                    mounted(stack, "--rbind", f"/{folder}", root / folder)
                command = re.sub(r"--mount=\S+\s*", "", text)
                subprocess.run(["chroot", root, "/bin/sh", "-c", command], check=True)
            (root / "packages").rmdir()


def as_user(root, *command):
    user = image.instruction("USER")
    group = subprocess.run(["chroot", root, "id", "--group", user], capture_output=True, text=True, check=True).stdout
    return ["chroot", f"--userspec={user}:{group.strip()}", root, "env", "--ignore-environment",
            "PATH=/usr/local/bin:/usr/bin:/bin", "HOME=/nonexistent", *command]


def ask_for_cuda(view):
    """Optimizes for the GPU, or gets the one reason why not that remains."""
    asked = subprocess.run(as_user(view, "quotient", "optimize", "/tmp/model.onnx", "-o", "/tmp/cuda.onnx", "--local",
                                   "--device", "cuda", "--budget", "6s"), capture_output=True, text=True, check=False)
    print(asked.stdout + asked.stderr)
    if asked.returncode != 0 and "driver" not in asked.stderr:
        sys.exit("the plug-in misses more than a driver")


def use(root, stage, model):
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
                if stage == "cuda":
                    ask_for_cuda(view)
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
    parser.add_argument("--cuda", type=pathlib.Path, nargs=2, default=[])
    arguments = parser.parse_args()
    stage = "cuda" if arguments.cuda else "runtime"
    make(arguments.root.resolve(), stage, arguments.packages.resolve(),
         dict(zip(("/src/build/deps", "/nvidia"), arguments.cuda)))
    use(arguments.root.resolve(), stage, arguments.model.resolve())


if __name__ == "__main__":
    main()
