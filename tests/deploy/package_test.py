"""Packages that deploy/package.sh makes of this build: what is in them, that the archive runs from another folder,
and that the same build gives the same bytes.

    package_test.py BUILD PACKAGES

PACKAGES is the folder with those that were made.
"""

import gzip
import hashlib
import importlib.util
import json
import os
import pathlib
import re
import shutil
import subprocess
import sys
import sysconfig
import tarfile
import tempfile
import time
import unittest
import zipfile

import jsonschema
import referencing
import referencing.jsonschema

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path += [str(ROOT / "tests/e2e"), str(ROOT / "tests/lint")]
import harness  # noqa: E402
import image  # noqa: E402
import models  # noqa: E402
import pages  # noqa: E402

# What the image with CUDA has of NVIDIA.
NVIDIA = ["nvidia-cublas", "nvidia-cuda-nvrtc", "nvidia-cudnn-cu13"]

# A machine has these with glibc; a package must not bring them.
GLIBC = re.compile(r"(linux-vdso|ld-linux-x86-64|lib(c|m|dl|pthread|rt|resolv|mvec|anl|util))\.so")
PROGRAMS = ["quotient", "quotient-backup", "quotient-job", "quotient-ort", "quotient-restore", "quotientd"]


def run(*command, **options):
    ran = subprocess.run([*map(str, command)], capture_output=True, text=True, check=False,
                         timeout=harness.PATIENCE_SECONDS, **options)
    if ran.returncode != 0:
        raise AssertionError(f"{' '.join(map(str, command))}\n{ran.stdout}{ran.stderr}")
    return ran.stdout


def bill_validator():
    """A validator by the schemas of CycloneDX, which refer to one another by the names of their files."""
    (package,) = importlib.util.find_spec("cyclonedx").submodule_search_locations
    folder = pathlib.Path(package) / "schema/_res"
    registry = referencing.Registry(
        retrieve=lambda uri: referencing.Resource.from_contents(
            json.loads((folder / uri.rpartition("/")[2]).read_text()), referencing.jsonschema.DRAFT7))
    schema = json.loads((folder / "bom-1.6.SNAPSHOT.schema.json").read_text())
    return jsonschema.Draft7Validator(schema, registry=registry, format_checker=jsonschema.FormatChecker())


class PackageTest(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.folder = pathlib.Path(cls.enterClassContext(tempfile.TemporaryDirectory()))
        cls.packages = PACKAGES
        (archive,) = (path for path in cls.packages.glob("quotient-*.tar.gz") if "cuda" not in path.name)
        cls.version = re.fullmatch(r"quotient-(\d+\.\d+\.\d+)-linux-x86_64\.tar\.gz", archive.name)[1]
        # A name with a space: a folder is the user's.
        cls.place = cls.folder / "any folder"
        with tarfile.open(archive) as tar:
            cls.members = tar.getmembers()
        cls.place.mkdir()
        run("tar", "-xzf", archive, "-C", cls.place)
        (cls.prefix,) = cls.place.iterdir()
        # What another machine has: neither this build nor its libraries.
        cls.env = {"PATH": "/usr/bin:/bin", "HOME": str(cls.folder), "LANG": "C.UTF-8"}

    def debian(self, name):
        return self.packages / f"{name}_{self.version}_amd64.deb"

    def unpacked(self, name):
        tree = self.folder / name
        if not tree.exists():
            run("dpkg-deb", "--extract", self.debian(name), tree)
        return tree

    def unpacked_wheel(self):
        tree = self.folder / "wheel"
        if not tree.exists():
            (wheel,) = self.packages.glob("*.whl")
            with zipfile.ZipFile(wheel) as archive:
                archive.extractall(tree)
        return tree

    def libraries_of(self, file, env=None):
        """What the dynamic linker loads for a program: name to path."""
        lines = run("ldd", file, env=env or self.env).splitlines()
        return {line.split()[0]: line.partition("=> ")[2].rpartition(" (")[0] for line in lines if "=>" in line}

    def with_plugin(self):
        return (BUILD / "bin/libquotient_cuda.so").exists()

    def test_same_build_gives_same_bytes(self):
        again = self.folder / "again"
        run(ROOT / "deploy/package.sh", "--build", BUILD, "--output", again, "--quick",
            env={**os.environ, "SOURCE_DATE_EPOCH": "1700000000"})
        sums = (self.packages / "SHA256SUMS").read_text()
        self.assertEqual(sums, (again / "SHA256SUMS").read_text())
        for line in sums.splitlines():
            digest, name = line.split()
            self.assertEqual(digest, hashlib.sha256((self.packages / name).read_bytes()).hexdigest())
        shutil.rmtree(again)

    def test_no_file_says_where_the_checkout_is(self):
        """So packages of two checkouts are the same."""
        cache = (BUILD / "CMakeCache.txt").read_text()
        deps = pathlib.Path(re.search(r"^QUOTIENT_PREFIX:\w+=(.+)$", cache, re.M)[1]).parent
        # Not as a part of another path. ccache gives the compiler paths from the build folder.
        places = "|".join(re.escape(str(place)) for place in (ROOT, BUILD, deps))
        place = re.compile(rf"(?<![\w.~-])({places})/|{re.escape(os.path.relpath(deps, BUILD))}/".encode())
        for tree in [self.prefix, self.unpacked_wheel(),
                     *(self.unpacked(path.name.partition("_")[0]) for path in self.packages.glob("*.deb"))]:
            for file in (path for path in tree.rglob("*") if path.is_file()):
                content = file.read_bytes()
                found = place.search(gzip.decompress(content) if file.suffix == ".gz" else content)
                self.assertIsNone(found, file)

    def test_what_there_is(self):
        expected = {f"quotient-{self.version}-linux-x86_64.tar.gz", f"quotient_{self.version}_amd64.deb",
                    f"libquotient-dev_{self.version}_amd64.deb",
                    f"quotient_client-{self.version}-py3-none-any.whl", "SHA256SUMS"}
        if self.with_plugin():
            expected |= {f"quotient-cuda-{self.version}-linux-x86_64.tar.gz", f"quotient-cuda_{self.version}_amd64.deb"}
        self.assertEqual(expected, {path.name for path in self.packages.iterdir()})
        self.assertEqual(PROGRAMS, sorted(path.name for path in (self.prefix / "bin").iterdir()))

    def test_archive_is_not_of_this_machine(self):
        self.assertEqual({(0, 0)}, {(member.uid, member.gid) for member in self.members})
        self.assertEqual({1700000000}, {member.mtime for member in self.members})
        self.assertEqual({0o644, 0o755}, {member.mode & 0o7777 for member in self.members})
        self.assertEqual([], [member.name for member in self.members if member.issym() or member.islnk()])

    def test_archive_brings_all_but_glibc(self):
        for program in ("quotient", "quotientd", "quotient-job", "quotient-ort"):
            for name, path in self.libraries_of(self.prefix / "bin" / program).items():
                if not GLIBC.match(name):
                    self.assertTrue(path.startswith(str(self.prefix)), f"{program} loads {name} from {path}")
        self.assertEqual([], [path.name for path in (self.prefix / "lib").iterdir() if GLIBC.match(path.name)])

    def test_archive_wants_no_newer_glibc_than_the_page_says(self):
        page = (ROOT / "deploy/README.md").read_text()
        promised = tuple(map(int, re.search(r"glibc (\d+)\.(\d+) or newer", page).groups()))
        files = [*(self.prefix / "bin").iterdir(), *(self.prefix / "lib").glob("*.so*")]
        wanted = {tuple(map(int, version)) for file in files if file.read_bytes()[:4] == b"\x7fELF"
                  for version in re.findall(r"Name: GLIBC_(\d+)\.(\d+)", run("readelf", "--version-info", "--wide", file))}
        self.assertLessEqual(max(wanted), promised)

    def test_archive_optimizes_alone(self):
        model = self.folder / "model.onnx"
        models.onnx.save(models.conv_bn_relu(), model)
        for device in ("cpu", "onnxruntime"):
            with self.subTest(device):
                table = run(self.prefix / "bin/quotient", "optimize", model, "-o", self.folder / "out.onnx", "--local",
                            "--budget", "4s", "--device", device, env=self.env)
                self.assertIn("Measured on: ", table)
        self.assertIn(f"quotient {self.version}", run(self.prefix / "bin/quotient", "--version", env=self.env))

    def test_archive_serves(self):
        address = self.folder / "address"
        with subprocess.Popen([self.prefix / "bin/quotientd", "--listen", "127.0.0.1:0", "--port-file", address,
                               "--data-dir", self.folder / "data"], env=self.env, stdout=subprocess.DEVNULL,
                              stderr=subprocess.DEVNULL, preexec_fn=harness.die_with_parent) as server:
            try:
                deadline = time.monotonic() + harness.PATIENCE_SECONDS
                while not address.exists():
                    self.assertIsNone(server.poll())
                    self.assertLess(time.monotonic(), deadline)
                    time.sleep(0.02)
                model = self.folder / "served.onnx"
                models.onnx.save(models.conv_bn_relu(blocks=2), model)
                table = run(self.prefix / "bin/quotient", "optimize", model, "-o", self.folder / "served.out.onnx",
                            "--server", address.read_text().strip(), "--device", "model:h200", env=self.env)
                self.assertIn("model:h200", table)
            finally:
                server.terminate()

    def test_debian_package_depends_on_what_it_loads(self):
        fields = run("dpkg-deb", "--field", self.debian("quotient"))
        for package in ("libgrpc++1.51", "libprotobuf32", "libabsl20220623", "libsqlite3-0", "libseccomp2", "libgomp1",
                        "coinor-libcbc3", "libspdlog1.10-fmt9"):
            self.assertRegex(fields, rf"Depends: .*\b{re.escape(package)}( \(>= [^)]+\))?(,|\n)")
        tree = self.unpacked("quotient")
        self.assertEqual(["libdnnl.so.3", "libonnxruntime.so"],
                         sorted(path.name for path in (tree / "usr/lib/quotient/lib").iterdir()))
        for link in (tree / "usr/bin").iterdir():
            self.assertTrue(link.resolve().is_file(), link)
            self.assertEqual(tree / "usr/lib/quotient/bin", link.resolve().parent)
        self.assertEqual(str(tree / "usr/lib/quotient/bin/../lib/libdnnl.so.3"),
                         self.libraries_of(tree / "usr/lib/quotient/bin/quotientd")["libdnnl.so.3"])
        self.assertIn(f"quotient {self.version}", run(tree / "usr/bin/quotient", "--version", env=self.env))

    def test_debian_packages_are_in_order(self):
        for name in [path.name.partition("_")[0] for path in self.packages.glob("*.deb")]:
            with self.subTest(name):
                tree = self.unpacked(name)
                listed = run("dpkg-deb", "--contents", self.debian(name)).splitlines()
                self.assertEqual({"root/root"}, {line.split()[1] for line in listed})
                control = self.folder / f"{name}-control"
                run("dpkg-deb", "--control", self.debian(name), control)
                sums = dict(reversed(line.split("  ", 1)) for line in (control / "md5sums").read_text().splitlines())
                files = {str(path.relative_to(tree)): hashlib.md5(path.read_bytes()).hexdigest()
                         for path in tree.rglob("*") if path.is_file() and not path.is_symlink()}
                self.assertEqual(files, sums)
                self.assertIn("Apache License", (tree / f"usr/share/doc/{name}/copyright").read_text())
                if name != "quotient":
                    self.assertIn(f"quotient (= {self.version})", run("dpkg-deb", "--field", self.debian(name), "Depends"))

    def test_plugin_is_apart(self):
        self.assertEqual([], [*self.prefix.rglob("*cuda.so*"), *self.unpacked("quotient").rglob("*cuda.so*")])
        if not self.with_plugin():
            self.skipTest("this build has no CUDA plug-in")
        # Unpacked over the other archive, the plug-in is found; whether there is a GPU is another matter.
        place = self.folder / "with plug-in"
        run("cp", "-R", "--link", self.place, place)
        run("tar", "-xzf", self.packages / f"quotient-cuda-{self.version}-linux-x86_64.tar.gz", "-C", place)
        (plugin,) = place.rglob("libquotient_cuda.so")
        model = place / "model.onnx"
        models.onnx.save(models.conv_bn_relu(), model)
        for prefix, found in ((self.prefix, False), (place / self.prefix.name, True)):
            command = [prefix / "bin/quotient", "optimize", model, "-o", place / "out.onnx", "--local", "--device", "cuda"]
            told = subprocess.run([*map(str, command)], env=self.env, capture_output=True, text=True, check=False).stderr
            self.assertEqual(found, "has no CUDA plug-in" not in told, told)
        # Of the rest, the archive that it is unpacked over has what NVIDIA does not.
        there = {path.name for path in (self.prefix / "lib").iterdir()}
        needed = set(re.findall(r"NEEDED.*\[(.+)\]", run("readelf", "--dynamic", plugin)))
        self.assertEqual({"libcublasLt.so.13", "libcudnn.so.9", "libnvrtc.so.13"},
                         {name for name in needed - there if not GLIBC.match(name)})
        self.assertIn("[$ORIGIN]", run("readelf", "--dynamic", plugin))

    def test_bill_of_materials(self):
        trees = [self.prefix, *(self.unpacked(path.name.partition("_")[0]) for path in self.packages.glob("*.deb"))]
        validator = bill_validator()
        self.assertFalse(validator.is_valid({"bomFormat": "CycloneDX", "specVersion": "1.6", "components": [{}]}))
        bills = [file for tree in trees for file in tree.rglob("*.cdx.json")]
        self.assertEqual(len(trees), len(bills))
        for bill_file in bills:
            bill = json.loads(bill_file.read_text())
            validator.validate(bill)
            self.assertEqual({part["bom-ref"] for part in bill["components"]},
                             set(bill["dependencies"][0]["dependsOn"]))
        shared = self.prefix / "share/quotient"
        bill = json.loads((shared / "quotient.cdx.json").read_text())
        # Every library of the archive is in it, with its digest.
        listed = {file["name"]: file["hashes"][0]["content"]
                  for part in bill["components"] for file in part.get("components", ())}
        from_pypi = {"libdnnl.so.3", "libonnxruntime.so"}
        own = {path.name for path in (self.prefix / "lib").glob("*.a")}
        found = {path.name: hashlib.sha256(path.read_bytes()).hexdigest()
                 for path in (self.prefix / "lib").iterdir() if path.is_file() and path.name not in from_pypi | own}
        self.assertEqual(found, listed)
        self.assertGreater(len(found), 50)
        summary = (self.prefix / "share/doc/quotient/copyright").read_text()
        for part in bill["components"]:
            self.assertIn(f"{part['name']} {part['version']}", summary)
            if part["name"] != "onnx":  # Its licence is ours.
                self.assertTrue(any((shared / "licenses" / part["name"]).iterdir()), part["name"])
        self.assertTrue((shared / "licenses/quotient/LICENSE").exists())
        pins = (ROOT / "deploy/setup/requirements-onnxruntime.txt").read_text()
        digests = {part["name"]: part["hashes"][0]["content"] for part in bill["components"] if "hashes" in part}
        self.assertEqual({"onnx", "onednn-cpu-gomp", "onnxruntime"}, set(digests))
        self.assertIn(f"--hash=sha256:{digests['onnxruntime']}", pins)

    def test_bill_of_nvidia_libraries(self):
        deps, output = self.folder / "deps", self.folder / "nvidia"
        libraries = ["libcublasLt.so.13", "libcudnn.so.9", "libcudnn_graph.so.9", "libnvrtc.so.13"]
        for name in [*(f"lib/{library}" for library in libraries), "lib/libcudart_static.a",
                     *(f"licenses/{name}/License.txt" for name in NVIDIA)]:
            (deps / "cuda" / name).parent.mkdir(parents=True, exist_ok=True)
            (deps / "cuda" / name).write_text(name)
        run(sys.executable, ROOT / "deploy/package/bill.py", "--name", "nvidia-libraries", "--version", self.version,
            "--prefix", deps / "current", "--output", output, env={**os.environ, "SOURCE_DATE_EPOCH": "1700000000"})
        bill = json.loads((output / "share/quotient/nvidia-libraries.cdx.json").read_text())
        bill_validator().validate(bill)
        self.assertEqual(NVIDIA, [part["name"] for part in bill["components"]])
        self.assertEqual(libraries, sorted(file["name"] for part in bill["components"] for file in part["components"]))
        self.assertNotIn("Apache", (output / "share/doc/nvidia-libraries/copyright").read_text())
        for name in NVIDIA:
            self.assertEqual(f"licenses/{name}/License.txt",
                             (output / "share/quotient/licenses" / name / "License.txt").read_text())

    def test_what_operators_need(self):
        for root in (self.prefix / "share/quotient", self.unpacked("quotient") / "usr/share/quotient"):
            for folder in ("kubernetes", "dashboards", "prometheus", "guide/stories"):
                there = {path.relative_to(ROOT): path.read_bytes() for path in (ROOT / "deploy" / folder).rglob("*")
                         if path.is_file() and "__pycache__" not in path.parts}
                self.assertTrue(there)
                self.assertEqual(there, {path.relative_to(root): path.read_bytes()
                                         for path in (root / "deploy" / folder).rglob("*") if path.is_file()})
            self.assertTrue(os.access(root / "deploy/guide/stories/build_engineer.sh", os.X_OK))
            self.assertTrue((root / "proto/quotient/v1/optimizer.proto").exists())

    def test_links_of_pages_lead_to_what_is_packaged(self):
        for root in (self.prefix / "share/quotient", self.unpacked("quotient") / "usr/share/quotient"):
            found = {str(path.relative_to(root)) for path in root.rglob("*")} | {"."}
            installed = sorted(name for name in found if name.endswith(".md"))
            self.assertGreater(len(installed), 30)
            for page in installed:
                prose = pages.FENCE.sub("", (root / page).read_text())
                self.assertEqual([], list(pages.wrong_links(root, page, prose, found)))

    def test_the_guide_is_there_as_html(self):
        site = self.prefix / "share/doc/quotient/html"
        shipped = self.unpacked("quotient") / "usr/share/doc/quotient/html"
        self.assertEqual({file.relative_to(site): file.read_bytes() for file in site.rglob("*") if file.is_file()},
                         {file.relative_to(shipped): file.read_bytes() for file in shipped.rglob("*") if file.is_file()})
        for page in (self.prefix / "share/quotient/deploy/guide").rglob("*.md"):
            self.assertTrue((site / page.relative_to(self.prefix / "share/quotient")).with_suffix(".html").exists(), page)
        self.assertTrue((site / "index.html").exists())

    def test_dead_links_become_names(self):
        tree = self.folder / "pages"
        (tree / "a").mkdir(parents=True)
        (tree / "there.md").touch()
        page = tree / "a/page.md"
        page.write_text("[it](../there.md), [heading](#here), [web](https://example.org/x), [rules](../b/RULES.md#one),\n"
                        "[`../b/file.h`](../b/file.h), (core/b [core/b](../core/b/README.md)), [a [b] c](../c)\n"
                        "```\n[it](../none.md)\n```\n[gone](none.md)\n")
        run(ROOT / "deploy/package/links.py", tree)
        self.assertEqual("[it](../there.md), [heading](#here), [web](https://example.org/x), rules (`b/RULES.md` of the sources),\n"
                         "`../b/file.h` (`b/file.h` of the sources), (core/b `core/b/README.md` of the sources), "
                         "a [b] c (`c` of the sources)\n"
                         "```\n[it](../none.md)\n```\ngone (`a/none.md` of the sources)\n", page.read_text())

    def test_an_image_can_be_made_of_the_package(self):
        """By the same instructions as that of the sources, but that the package is in the folder that docker is given."""
        dockerfile = self.prefix / "share/quotient/Dockerfile"
        self.assertEqual(dockerfile.read_bytes(), (self.unpacked("quotient") / "usr/share/quotient/Dockerfile").read_bytes())
        ((name, base, made),) = image.stages(dockerfile)
        self.assertEqual(("", dict((stage, base) for stage, base, _ in image.stages())["server"]), (name, base))
        self.assertEqual([(word, text.replace("type=bind,from=package,source=/packages,", "type=bind,"))
                          for word, text in image.instructions("runtime")], made)
        self.assertNotIn("from=", str(made))
        (glob,) = re.findall(r"/packages/(\S+)", str(made))
        self.assertEqual([self.debian("quotient")], list(self.packages.glob(glob)))
        hadolint = pathlib.Path(sys.executable).with_name("hadolint")
        run(hadolint, dockerfile)

    def test_the_wheel_is_the_client_of_this_build(self):
        environment = self.folder / "environment"
        run(sys.executable, "-m", "venv", "--without-pip", environment)
        (wheel,) = self.packages.glob("*.whl")
        run(sys.executable, "-m", "pip", "--python", environment / "bin/python3", "install", "--no-deps", "--no-index",
            wheel)
        (site,) = environment.glob("lib/python*/site-packages")
        # What it depends on is in the environment of the tests.
        (site / "tests.pth").write_text(sysconfig.get_path("purelib") + "\n")
        told = run(environment / "bin/python3", "-c",
                   "import importlib.metadata, quotient; from quotient.v1 import optimizer_pb2; "
                   "print(quotient.__file__, importlib.metadata.version('quotient-client'), optimizer_pb2.Job().name)",
                   env=self.env)
        file, version = told.split()
        self.assertTrue(pathlib.Path(file).is_relative_to(environment), file)
        self.assertEqual(self.version, version)

    def test_every_command_has_a_page(self):
        pages = self.prefix / "share/man"
        commands = re.findall(r"^  ([a-z]+) +[a-z]", run(self.prefix / "bin/quotient", "--help", env=self.env)
                              .partition("Commands:")[2].partition("Exit codes:")[0], re.M)
        self.assertGreater(len(commands), 15)
        names = {"quotientd.8.gz", "quotient-backup.8.gz", "quotient-restore.8.gz", "quotient.1.gz",
                 *(f"quotient-{command}.1.gz" for command in commands)}
        self.assertEqual(names, {path.name for path in pages.rglob("*.gz")})
        for path in pages.rglob("*.gz"):
            text = gzip.decompress(path.read_bytes()).decode()
            self.assertRegex(text, r'\.TH QUOTIENT\S* "\d" "November 2023"')
            self.assertIn(".SH DESCRIPTION", text)
            self.assertNotIn(str(ROOT), text)
            if path.name.startswith("quotient-opt"):
                self.assertIn(r"\fB\-\-budget\fR TIME", text)
                self.assertIn('.SH "EXIT STATUS"', text)

    def test_completion(self):
        for shell, file in (("bash", "bash-completion/completions/quotient"), ("zsh", "zsh/site-functions/_quotient"),
                            ("fish", "fish/vendor_completions.d/quotient.fish")):
            self.assertEqual(run(harness.BIN / "quotient", "completion", shell),
                             (self.prefix / "share" / file).read_text())
        tree = self.unpacked("quotient")
        self.assertTrue((tree / "usr/share/zsh/vendor-completions/_quotient").exists())


if __name__ == "__main__":
    BUILD, PACKAGES = (pathlib.Path(sys.argv.pop(1)).resolve() for _ in range(2))
    unittest.main()
