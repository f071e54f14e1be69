# Copyright 2026 The Loss Scaler Service Authors
# SPDX-License-Identifier: Apache-2.0
"""The real server with what the chart gives it: settings, and secrets as a kubelet mounts them.

usage: helm_server_test.py --renderer FOLDER --server FILE --client FILE [unittest arguments]
"""

import argparse
import hashlib
import os
import pathlib
import shutil
import subprocess
import sys
import tempfile
import time
import unittest

import helm_renderer
from helm_renderer import NAMES, named

SERVER = None
CLIENT = None
# The user of the chart's pod.
USER = 10001


def environment():
    """Nothing of the caller's, which could be settings."""
    return {"PATH": "/usr/bin:/bin"}


def make_certificates(folder):
    """An authority that is its own server and client: tls.crt, tls.key, and ca.crt."""
    subprocess.run(["openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes",
                    "-keyout", folder / "tls.key", "-out", folder / "tls.crt", "-days", "2", "-subj", "/CN=localhost",
                    "-addext", "subjectAltName=DNS:localhost"], check=True, capture_output=True)
    shutil.copy(folder / "tls.crt", folder / "ca.crt")


class Pod:
    """A folder with what a kubelet would have put into the container of a release."""

    def __init__(self, release):
        self.release = release
        self.folder = pathlib.Path(tempfile.mkdtemp(prefix="helm-pod-"))
        # By root, so that it is the group of the files by which the server reads them.
        self.is_root = os.geteuid() == 0
        self.folder.chmod(0o755)
        # The server's user may not enter the folders above the build.
        for program in (SERVER, CLIENT):
            shutil.copy(program, self.folder / program.name)
        for path in ("/var/lib/lossscaler", "/run/lossscaler"):
            self.make_writable(self.inside(path))
        self.contents = self.folder / "contents"
        self.contents.mkdir(mode=0o700)
        make_certificates(self.contents)
        (self.contents / "tokens.toml").write_text(
            f'[[token]]\nname = "test"\nrole = "admin"\nsha256 = "{hashlib.sha256(b"token").hexdigest()}"\n')
        for mount in release.container["volumeMounts"]:
            for volume in release.pod["spec"]["volumes"]:
                if volume["name"] == mount["name"] and "secret" in volume:
                    self.mount(volume["secret"], self.inside(mount["mountPath"]))

    def inside(self, path):
        return self.folder / path.removeprefix("/").replace("lossscaler", "l")

    def make_writable(self, path):
        path.mkdir(parents=True)
        if self.is_root:
            os.chown(path, 0, USER)
        path.chmod(0o2775)

    def mount(self, secret, path):
        """Files behind two links, so that all of them change at once."""
        version = path / "..2026_01_01"
        version.mkdir(parents=True)
        (path / "..data").symlink_to(version.name)
        for item in secret["items"]:
            file = version / item["path"]
            shutil.copyfile(self.contents / item["path"], file)
            if self.is_root:
                os.chown(file, 0, USER)
            file.chmod(secret["defaultMode"])
            (path / item["path"]).symlink_to(f"..data/{item['path']}")

    def write_config(self, *replacements):
        text = self.release.config
        for path in ("/etc/lossscaler", "/var/lib/lossscaler", "/run/lossscaler"):
            text = text.replace(path, str(self.inside(path)))
        for old, new in replacements:
            text = text.replace(old, new)
        file = self.folder / "lossscalerd.toml"
        file.write_text(text)
        return file

    def command(self, program, *arguments):
        user = {"user": USER, "group": USER, "extra_groups": []} if self.is_root else {}
        return {"args": [self.folder / program.name, *arguments], "env": environment(), "cwd": self.folder,
                "stdin": subprocess.DEVNULL, **user}

    def run(self, program, *arguments):
        return subprocess.run(**self.command(program, *arguments), stdout=subprocess.PIPE,
                              stderr=subprocess.STDOUT, text=True, check=False)

    def remove(self):
        shutil.rmtree(self.folder)


class Server(unittest.TestCase):
    def pods(self):
        for name in NAMES:
            pod = Pod(named(name))
            self.addCleanup(pod.remove)
            yield name, pod

    def test_accepts_the_settings_of_every_release(self):
        for name, pod in self.pods():
            with self.subTest(values=name):
                file = pod.write_config()
                ended = pod.run(SERVER, "--config", str(file), "--check-config")
                self.assertEqual(ended.returncode, 0, ended.stdout)
                printed = pod.run(SERVER, "--config", str(file), "--print-config").stdout
                for line in pod.release.config.splitlines():
                    key = line.partition(" = ")[0]
                    if not line.startswith("#"):
                        self.assertRegex(printed, rf"(?m)^{key} = .*  # file ")

    def test_serves_as_the_user_of_the_pod_and_ends_in_time(self):
        for name, pod in self.pods():
            with self.subTest(values=name):
                self.serve(pod)

    def serve(self, pod):
        # Any free port of this machine only; what protects them stays on.
        host = pod.release.config.partition('listen = ["')[2].partition(':50551"')[0]
        file = pod.write_config((f'"{host}:50551"', '"127.0.0.1:0"'), (f'"{host}:9551"', '"127.0.0.1:0"'))
        self.assertNotIn("50551", file.read_text())
        log = (pod.folder / "log").open("w")
        server = subprocess.Popen(**pod.command(SERVER, "--config", str(file)), stdout=log, stderr=log)
        try:
            socket = pod.inside("/run/lossscaler") / "socket"
            deadline = time.monotonic() + 30
            health = None
            while server.poll() is None and time.monotonic() < deadline:
                health = pod.run(CLIENT, "health", "--address", f"unix:{socket}")
                if health.returncode == 0:
                    break
                time.sleep(0.05)
            said = (pod.folder / "log").read_text()
            self.assertIsNone(server.poll(), said)
            self.assertEqual(health.returncode, 0, health.stdout + said)
            server.terminate()
            self.assertEqual(server.wait(pod.release.pod["spec"]["terminationGracePeriodSeconds"]), 0,
                             (pod.folder / "log").read_text())
        finally:
            if server.poll() is None:
                server.kill()
                server.wait()
            log.close()


def main():
    global SERVER, CLIENT
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    for name in ("--renderer", "--server", "--client"):
        parser.add_argument(name, required=True, type=pathlib.Path)
    options, rest = parser.parse_known_args()
    helm_renderer.folder = options.renderer.resolve()
    SERVER, CLIENT = options.server.resolve(), options.client.resolve()
    unittest.main(argv=[sys.argv[0], *rest])


if __name__ == "__main__":
    main()
