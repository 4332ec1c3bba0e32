#!/usr/bin/env python3
"""Renders the chart without a cluster, and writes the Kustomize bases from it.

    build/deps/tests/bin/python3 deploy/kubernetes/render.py            writes base/ and chart/rules/
    build/deps/tests/bin/python3 deploy/kubernetes/render.py --check    says whether they are up to date
    build/deps/tests/bin/python3 deploy/kubernetes/render.py FILE...    prints what Helm would install with
                                                                        these files of values

Chart and bases have one source, the chart. Needs the PyPI packages helm-python-sdk and pyyaml, which
deploy/setup/install.sh --with-tests installs.
"""

import argparse
import pathlib
import sys

import helm_python
import yaml

HERE = pathlib.Path(__file__).resolve().parent
CHART = HERE / "chart"
# Rules of Prometheus, of which the chart has a copy: Helm reads no files outside of it.
RULES = HERE.parent / "prometheus"
RULE_FILES = ("alerts.yml", "recording.yml")
# Each base, and the values that it is rendered with.
BASES = {"cpu": "cpu.yaml", "gpu": "gpu.yaml"}
RELEASE = "quotient"
# What only Helm reads, so that objects without it are the same.
OF_HELM = ("app.kubernetes.io/managed-by", "helm.sh/chart", "helm.sh/resource-policy")


def merged(below, above):
    """Values as Helm merges files: maps key by key, and all else is replaced."""
    result = dict(below)
    for key, value in above.items():
        both = isinstance(value, dict) and isinstance(result.get(key), dict)
        result[key] = merged(result[key], value) if both else value
    return result


def values_of(files):
    values = {}
    for file in files:
        values = merged(values, yaml.safe_load(pathlib.Path(file).read_text()) or {})
    return values


def rendered(values, release=RELEASE, namespace="default"):
    """The text of each template that makes anything, by its name. Refused values raise
    helm_python.HelmError."""
    with helm_python.Chart.load(CHART) as chart:
        chart.validate_schema(values)
        texts = chart.render(values, name=release, namespace=namespace)
    return {name.split("/templates/")[1]: text for name, text in texts.items() if text.strip()}


def objects(values, **settings):
    """The objects that Helm would install, with its tests, in the order of their names."""
    texts = rendered(values, **settings)
    return [part for name in sorted(texts) if name.endswith(".yaml")
            for part in yaml.safe_load_all(texts[name]) if part]


def without_helm(value):
    """The object without what only Helm reads."""
    if isinstance(value, list):
        return [without_helm(each) for each in value]
    if not isinstance(value, dict):
        return value
    kept = {key: without_helm(each) for key, each in value.items() if key not in OF_HELM}
    return {key: each for key, each in kept.items() if not (key == "annotations" and not each)}


def is_hook(value):
    return "helm.sh/hook" in value["metadata"].get("annotations", {})


def base(values_file):
    """The files of a base, by their names."""
    files, head = {}, f"# Written by deploy/kubernetes/render.py from values/{values_file}; do not edit.\n"
    for each in objects(values_of([HERE / "values" / values_file])):
        if not is_hook(each):
            files[each["kind"].lower() + ".yaml"] = head + yaml.safe_dump(without_helm(each), sort_keys=False)
    kustomization = {"apiVersion": "kustomize.config.k8s.io/v1beta1", "kind": "Kustomization",
                     "resources": sorted(files)}
    files["kustomization.yaml"] = head + yaml.safe_dump(kustomization, sort_keys=False)
    return files


def written():
    """All files that this program writes, by their paths below this folder."""
    files = {f"base/{name}/{file}": text for name, values_file in BASES.items()
             for file, text in base(values_file).items()}
    return files | {f"chart/rules/{name}": (RULES / name).read_text() for name in RULE_FILES}


def present():
    """Those that are there."""
    return {str(path.relative_to(HERE)): path.read_text() for folder in ("base", "chart/rules")
            for path in (HERE / folder).rglob("*") if path.is_file()}


def write():
    wanted = written()
    for path, text in wanted.items():
        (HERE / path).parent.mkdir(parents=True, exist_ok=True)
        (HERE / path).write_text(text)
    for path in present().keys() - wanted.keys():
        (HERE / path).unlink()


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("files", metavar="FILE", nargs="*", help="of values")
    parser.add_argument("--check", action="store_true")
    arguments = parser.parse_args()
    if arguments.check:
        wanted, found = written(), present()
        wrong = sorted(path for path in wanted.keys() | found.keys()
                       if wanted.get(path) != found.get(path))
        print("\n".join(f"{path} is not what render.py writes" for path in wrong) or "render: ok")
        return 1 if wrong else 0
    if arguments.files:
        print(yaml.safe_dump_all(objects(values_of(arguments.files)), sort_keys=False), end="")
    else:
        write()
    return 0


if __name__ == "__main__":
    sys.exit(main())
