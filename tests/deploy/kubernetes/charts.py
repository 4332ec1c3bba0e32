"""What the tests of the chart share: the program that renders it, and what they look for in what it renders."""

import sys

import policies

FOLDER = policies.ROOT / "deploy" / "kubernetes"
sys.path.append(str(FOLDER))

import render  # noqa: E402


def deployment(values):
    (found,) = [each for each in render.objects(values) if each["kind"] == "Deployment"]
    return found


def container(values):
    return deployment(values)["spec"]["template"]["spec"]["containers"][0]
