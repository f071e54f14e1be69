# Copyright 2026 The Loss Scaler Service Authors
# SPDX-License-Identifier: Apache-2.0
"""The real server with what the chart gives it: settings, and secrets as a kubelet mounts them.

usage: helm_server_test.py --renderer FOLDER --server FILE --client FILE [unittest arguments]
"""

import argparse
import hashlib
import http.client
import json
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

try:
    import grpc
except ImportError:
    sys.exit("this test needs python3-grpcio, which is not installed: apt-get install python3-grpcio")

SERVER = None
CLIENT = None
# The user of the chart's pod.
USER = 10001
# How long to wait for what takes a second at most.
DEADLINE_SECONDS = 30


def environment():
    """Nothing of the caller's, which could be settings."""
    return {"PATH": "/usr/bin:/bin"}


def make_certificates(folder):
    """An authority that is its own server and client: tls.crt, tls.key, and ca.crt."""
    subprocess.run(["openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes",
                    "-keyout", folder / "tls.key", "-out", folder / "tls.crt", "-days", "2", "-subj", "/CN=localhost",
                    "-addext", "subjectAltName=IP:127.0.0.1"], check=True, capture_output=True)
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
        self.accept_token("token")
        self.mount_secrets("..2026_01_01")

    def accept_token(self, token):
        """No other, once secrets are mounted again."""
        (self.contents / "tokens.toml").write_text(
            f'[[token]]\nname = "test"\nrole = "admin"\nsha256 = "{hashlib.sha256(token.encode()).hexdigest()}"\n')

    def mount_secrets(self, version, mode=None):
        for mount in self.release.container["volumeMounts"]:
            for volume in self.release.pod["spec"]["volumes"]:
                if volume["name"] == mount["name"] and "secret" in volume:
                    self.mount(volume["secret"], self.inside(mount["mountPath"]), version, mode)

    def inside(self, path):
        return self.folder / path.removeprefix("/").replace("lossscaler", "l")

    def make_writable(self, path):
        path.mkdir(parents=True)
        if self.is_root:
            os.chown(path, 0, USER)
        path.chmod(0o2775)

    def mount(self, secret, path, version, mode):
        """Files behind two links, so that all of them change at once."""
        (path / version).mkdir(parents=True)
        for item in secret["items"]:
            file = path / version / item["path"]
            shutil.copyfile(self.contents / item["path"], file)
            if self.is_root:
                os.chown(file, 0, USER)
            file.chmod(mode or secret["defaultMode"])
            if not (path / item["path"]).is_symlink():
                (path / item["path"]).symlink_to(f"..data/{item['path']}")
        (path / "..data_tmp").symlink_to(version)
        (path / "..data_tmp").rename(path / "..data")

    def client_file(self, name, text):
        """A file that only the user can read."""
        file = self.folder / name
        file.write_text(text)
        if self.is_root:
            os.chown(file, USER, USER)
        file.chmod(0o600)
        return str(file)

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
            with self.subTest(values=name), Serving(pod) as server:
                self.assertEqual(pod.run(CLIENT, "health", "--address", server.socket).stdout, "SERVING\n")

    def test_passes_the_probes_and_shows_metrics(self):
        for name, pod in self.pods():
            with self.subTest(values=name), Serving(pod) as server:
                for probe in ("startupProbe", "livenessProbe", "readinessProbe"):
                    self.assertTrue(server.passes(pod.release.container[probe]), probe)
                ports = [port["name"] for port in pod.release.container["ports"]]
                self.assertEqual(server.admin != "", "admin" in ports)
                if server.admin:
                    self.assertIn("\nlossscaler_build_info{", server.get("/metrics"))

    def test_is_asked_of_parts_that_it_knows(self):
        pod = Pod(named("insecure"))
        self.addCleanup(pod.remove)
        with Serving(pod) as server:
            self.assertFalse(server.passes({"grpc": {"port": 50551, "service": "no such part"}}))

    def test_lets_in_only_who_shows_what_the_release_asks_for(self):
        for name, pod in self.pods():
            with self.subTest(values=name), Serving(pod) as server:
                token = ["--token-file", pod.client_file("token", "token")]
                other = ["--token-file", pod.client_file("other", "other")]
                authority = ["--ca", pod.client_file("ca.crt", (pod.contents / "ca.crt").read_text())]
                certificate = [part for option, file in (("--cert", "tls.crt"), ("--key", "tls.key"))
                               for part in (option, pod.client_file(file, (pod.contents / file).read_text()))]
                config = pod.release.config
                shown = []
                for setting, arguments in (("tls_cert", authority), ("tls_client_ca", certificate)):
                    if f"{setting} = " in config:
                        # There is no connection, for which a client waits.
                        self.assertEqual(server.info("--deadline", "2s", *shown).returncode, 3, setting)
                        shown += arguments
                if "token_file = " in config:
                    self.assertIn("TOKEN_REQUIRED", server.info(*shown).stdout)
                    self.assertIn("TOKEN_UNKNOWN", server.info(*shown, *other).stdout)
                    shown += token
                self.assert_lets_in(server, *shown)
                if "tls_cert = " in config:
                    # Why probes then do not go by gRPC.
                    self.assertFalse(server.passes({"grpc": {"port": 50551}}))

    def assert_lets_in(self, server, *shown):
        info = server.info(*shown)
        self.assertEqual(info.returncode, 0, info.stdout)

    def test_takes_a_secret_that_was_replaced(self):
        pod = Pod(named("tokens"))
        self.addCleanup(pod.remove)
        with Serving(pod) as server:
            def shown(name):
                return ["--ca", pod.client_file("ca.crt", (pod.contents / "ca.crt").read_text()),
                        "--token-file", pod.client_file(name, name)]
            old = shown("token")
            self.assert_lets_in(server, *old)
            pod.accept_token("another")
            make_certificates(pod.contents)
            pod.mount_secrets("..2026_01_02")
            new = shown("another")
            self.assertTrue(server.comes_true(lambda: server.info(*new).returncode == 0), server.said())
            self.assertIn("TOKEN_UNKNOWN", server.info(*new[:2], *old[2:]).stdout)

    def test_refuses_secrets_that_everyone_could_read(self):
        pod = Pod(named("tokens"))
        self.addCleanup(pod.remove)
        pod.mount_secrets("..2026_01_02", 0o444)
        ended = pod.run(SERVER, "--config", str(pod.write_config()))
        self.assertEqual(ended.returncode, 1, ended.stdout)
        self.assertIn("chmod o=", ended.stdout)


class Serving:
    """The server of a pod, on any free port of this machine only; what protects it stays on."""

    def __init__(self, pod):
        self.pod = pod
        host = pod.release.config.partition('listen = ["')[2].partition(':50551"')[0]
        config = pod.write_config((f'"{host}:50551"', '"127.0.0.1:0"'), (f'"{host}:9551"', '"127.0.0.1:0"'))
        assert "50551" not in config.read_text()
        self.socket = f"unix:{pod.inside('/run/lossscaler')}/socket"
        self.log = pod.folder / "log"
        with self.log.open("w") as log:
            # For the address of the admin port, whatever the release logs.
            self.process = subprocess.Popen(
                **pod.command(SERVER, "--config", str(config), "--log-format", "json", "--log-level", "info"),
                stdout=log, stderr=log)

    def __enter__(self):
        try:
            if not self.comes_true(lambda: self.said("serving")):
                raise AssertionError(f"it does not serve: {self.said()}")
            serving = self.said("serving")[0]
            self.address, _, _ = serving["addresses"].partition(",unix:")
            self.admin = serving["admin"]
        except BaseException:
            self.kill()
            raise
        return self

    def __exit__(self, kind, *_):
        try:
            self.process.terminate()
            code = self.process.wait(self.pod.release.pod["spec"]["terminationGracePeriodSeconds"])
        finally:
            self.kill()
        if kind is None and code != 0:
            raise AssertionError(f"it ended with {code}: {self.said()}")

    def kill(self):
        if self.process.poll() is None:
            self.process.kill()
            self.process.wait()

    def said(self, event=None):
        """Lines of the log, of one event."""
        lines = [json.loads(line) for line in self.log.read_text().splitlines(keepends=True) if line.endswith("\n")]
        return [line for line in lines if event in (None, line["event"])]

    def comes_true(self, condition):
        deadline = time.monotonic() + DEADLINE_SECONDS
        while self.process.poll() is None and time.monotonic() < deadline:
            if condition():
                return True
            time.sleep(0.05)
        return False

    def info(self, *shown):
        """What comes of a call that needs a token, if any does."""
        return self.pod.run(CLIENT, "info", "--address", self.address, *shown)

    def passes(self, probe):
        """What a kubelet thinks of a probe."""
        if "httpGet" in probe:
            return self.get(probe["httpGet"]["path"]) is not None
        part = probe["grpc"].get("service", "").encode()
        with grpc.insecure_channel(self.address, options=[("grpc.enable_http_proxy", 0)]) as channel:
            check = channel.unary_unary("/grpc.health.v1.Health/Check")
            try:
                # A message of one text, the first field; and of one number, SERVING.
                return check(bytes([0x0A, len(part)]) + part, timeout=probe.get("timeoutSeconds", 1)) == b"\x08\x01"
            except grpc.RpcError:
                return False

    def get(self, path):
        """The text of a page of the admin port; None if it is not there."""
        host, _, port = self.admin.rpartition(":")
        connection = http.client.HTTPConnection(host, int(port), timeout=DEADLINE_SECONDS)
        try:
            connection.request("GET", path)
            answer = connection.getresponse()
            text = answer.read().decode()
            return text if answer.status == 200 else None
        finally:
            connection.close()


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
