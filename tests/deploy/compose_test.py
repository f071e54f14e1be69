#!/usr/bin/env python3
# Copyright 2026 The Loss Scaler Service Authors
# SPDX-License-Identifier: Apache-2.0
"""The compose files, each by itself and together, as docker-compose resolves them.

usage: compose_test.py LOSSSCALERD [unittest arguments]

Needs no Docker engine; docker-compose is a package of the section deploy.
"""

import functools
import os
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile
import tomllib
import unittest

import yaml

SOURCE = pathlib.Path(__file__).resolve().parents[2]
DOCKER = SOURCE / "docker"
SERVER = None  # The program, from the command line.

PLAIN = ("compose.yaml",)
TLS = ("compose.tls.yaml",)
MTLS = TLS + ("compose.mtls.yaml",)
OBSERVED = "compose.observability.yaml"
COMBINATIONS = (PLAIN, TLS, MTLS, PLAIN + (OBSERVED,), TLS + (OBSERVED,), MTLS + (OBSERVED,))


@functools.cache
def _resolved(files, **variables):
    command = ["docker-compose"]
    for file in files:
        command += ["-f", str(DOCKER / file)]
    environment = {"PATH": os.environ["PATH"], "HOME": "/nonexistent", "LC_ALL": "C.UTF-8"}
    try:
        done = subprocess.run(command + ["config"], env=environment | variables, cwd="/",
                              stdin=subprocess.DEVNULL, capture_output=True, text=True, check=False)
    except FileNotFoundError as error:
        raise AssertionError("docker-compose is missing: packages.txt, section deploy") from error
    if done.returncode != 0:
        raise AssertionError(f"docker-compose refuses {' '.join(files)}: {done.stderr}")
    return done.stdout


def resolve(files, **variables):
    """What docker-compose makes of the files."""
    return yaml.safe_load(_resolved(files, **variables))


def run_server(arguments, variables=None):
    return subprocess.run([SERVER, *arguments], env=variables or {}, stdin=subprocess.DEVNULL,
                          capture_output=True, text=True, check=False)


def seconds(text):
    """`1m30s` and the like, as docker-compose writes durations."""
    parts = re.findall(r"(\d+)(h|m|s)", text)
    if "".join(number + unit for number, unit in parts) != text:
        raise AssertionError(f"not a duration: {text}")
    return sum(int(number) * {"h": 3600, "m": 60, "s": 1}[unit] for number, unit in parts)


def flags(service):
    """The flags of a command, as pairs of name and value."""
    return [tuple((argument.split("=", 1) + [None])[:2]) for argument in service["command"]]


def values(service, flag):
    return [value for name, value in flags(service) if name == flag]


def published(service):
    """Each published port: the address of the host, its port, the container's."""
    for port in service.get("ports", ()):
        if isinstance(port, dict):
            yield port.get("host_ip", ""), int(port["published"]), int(port["target"])
        else:
            match = re.fullmatch(r"(?:([\d.]+):)?(\d+):(\d+)(?:/tcp)?", port)
            if match is None:
                raise AssertionError(f"not understood: {port}")
            yield match.group(1) or "", int(match.group(2)), int(match.group(3))


def mounts(service):
    """Each mount: its source, its target, whether it is read-only."""
    for mount in service.get("volumes", ()):
        if isinstance(mount, dict):
            yield mount["source"], mount["target"], mount.get("read_only", False)
        else:
            source, target, *mode = mount.split(":")
            yield source, target, mode == ["ro"]


def tmpfs(service):
    """Each tmpfs: its place, and its options."""
    for mount in service.get("tmpfs", ()):
        place, _, options = mount.partition(":")
        yield place, dict(option.split("=") for option in options.split(","))


class EveryServiceTest(unittest.TestCase):
    def services(self):
        for files in COMBINATIONS:
            for name, service in resolve(files)["services"].items():
                with self.subTest(files=" ".join(files), service=name):
                    yield service

    def test_has_nothing_that_it_does_not_need(self):
        for service in self.services():
            self.assertIs(service["read_only"], True)
            self.assertEqual(service["cap_drop"], ["ALL"])
            self.assertEqual(service["security_opt"], ["no-new-privileges:true"])
            for key in ("privileged", "cap_add", "devices", "network_mode", "pid", "ipc", "user"):
                self.assertNotIn(key, service)
            for source, target, _ in mounts(service):
                self.assertNotIn("docker.sock", source + target)

    def test_cannot_take_the_machine(self):
        for service in self.services():
            self.assertIn("mem_limit", service)
            self.assertGreater(int(service["pids_limit"]), 0)
            self.assertEqual(service["logging"]["driver"], "json-file")
            self.assertEqual(sorted(service["logging"]["options"]), ["max-file", "max-size"])
            for _, options in tmpfs(service):
                self.assertIn("size", options)

    def test_starts_again(self):
        for service in self.services():
            self.assertEqual(service["restart"], "unless-stopped")

    def test_is_built_here_or_of_a_stated_version(self):
        for service in self.services():
            if "build" in service:
                version = re.search(r"^ *VERSION ([\d.]+)$", (SOURCE / "CMakeLists.txt").read_text(), re.M).group(1)
                self.assertEqual(service["image"], f"lossscalerd:{version}")
                self.assertEqual(service["build"]["context"], str(SOURCE))
                self.assertEqual(service["build"]["dockerfile"], "docker/Dockerfile")
            else:
                self.assertRegex(service["image"], r":v?\d+\.\d+\.\d+$")
                self.assertIn("healthcheck", service)

    def test_cannot_change_files_of_the_host(self):
        for service in self.services():
            for source, _, read_only in mounts(service):
                if source.startswith("/"):
                    self.assertTrue(read_only, source)
                    if source.startswith(str(SOURCE)):
                        self.assertTrue(pathlib.Path(source).is_dir(), source)

    def test_without_tls_is_reached_from_this_machine_only(self):
        for service in self.services():
            for host, _, port in published(service):
                if host != "127.0.0.1":
                    self.assertEqual(port, 50551)
                    self.assertIn("--tls-cert", dict(flags(service)))


class ServerTest(unittest.TestCase):
    def servers(self):
        for files in COMBINATIONS:
            project = resolve(files)
            with self.subTest(files=" ".join(files)):
                yield project, project["services"]["lossscalerd"]

    def test_is_given_settings_that_it_has(self):
        known = set(re.findall(r"--[a-z][a-z0-9-]*", run_server(["--help"]).stdout))
        self.assertIn("--listen", known)
        for _, server in self.servers():
            for flag, _ in flags(server):
                self.assertIn(flag, known)
            for variable in server.get("environment", {}):
                if variable.startswith("LOSSSCALERD_"):
                    name = variable.removeprefix("LOSSSCALERD_").lower().replace("_", "-")
                    self.assertIn(f"--{name}", known)

    def test_leaves_settings_to_the_environment_that_a_file_of_ones_own_may_change(self):
        fixed = {"--listen", "--insecure", "--admin-listen", "--admin-insecure",
                 "--tls-cert", "--tls-key", "--token-file"}
        text = (DOCKER / "README.md").read_text()
        for _, server in self.servers():
            self.assertLessEqual(set(dict(flags(server))), fixed)
            # A flag beats the environment, so the document names those.
            for flag in dict(flags(server)):
                self.assertIn(f"`{flag[2:].replace('-', '_')}`", text)
            command = [*server["command"], "--print-config"]
            shown = run_server(command, server["environment"] | {"LOSSSCALERD_LOG_FORMAT": "text"}).stdout
            self.assertEqual(tomllib.loads(shown)["log_format"], "text")

    def test_accepts_them_without_tls(self):
        for files in (PLAIN, PLAIN + (OBSERVED,)):
            server = resolve(files)["services"]["lossscalerd"]
            done = run_server([*server["command"], "--check-config"], server.get("environment", {}))
            self.assertEqual((done.returncode, done.stderr), (0, ""))

    def test_would_refuse_them_without_the_word_that_the_files_explain(self):
        for word in ("--insecure", "--admin-insecure"):
            command = resolve(PLAIN)["services"]["lossscalerd"]["command"]
            command.remove(word)
            done = run_server([*command, "--check-config"])
            self.assertEqual(done.returncode, 1, word)
            self.assertIn(word, done.stderr)

    def test_ends_before_it_is_killed(self):
        for _, server in self.servers():
            shown = run_server([*server["command"], "--print-config"], server["environment"]).stdout
            drain = tomllib.loads(shown)["drain_timeout"]
            self.assertGreaterEqual(seconds(server["stop_grace_period"]), seconds(drain) + 5)

    def test_keeps_one_state_in_a_volume_of_that_name(self):
        for project, server in self.servers():
            self.assertIn(("state", "/var/lib/lossscaler", False), list(mounts(server)))
            self.assertEqual(project["volumes"]["state"]["name"], "lossscaler")

    def test_listens_where_its_published_ports_lead(self):
        for _, server in self.servers():
            self.assertEqual({container for _, _, container in published(server)}, {50551, 9551})
            self.assertIn("0.0.0.0:50551", values(server, "--listen"))
            self.assertEqual(values(server, "--admin-listen"), ["0.0.0.0:9551"])
            # So that lossscalerctl, and examples, find it by default.
            self.assertTrue(all(host == container for _, host, container in published(server)))

    def test_is_as_guarded_with_tls_as_without(self):
        plain = resolve(PLAIN)["services"]["lossscalerd"]
        for files in (TLS, MTLS):
            server = resolve(files)["services"]["lossscalerd"]
            for key in ("build", "cap_drop", "image", "logging", "mem_limit", "pids_limit", "read_only",
                        "restart", "security_opt", "stop_grace_period", "ulimits"):
                self.assertEqual(server[key], plain[key], key)


class TlsTest(unittest.TestCase):
    def test_asks_everybody_for_a_token(self):
        for files in (TLS, MTLS):
            given = dict(flags(resolve(files)["services"]["lossscalerd"]))
            self.assertNotIn("--insecure", given)
            for flag in ("--tls-cert", "--tls-key", "--token-file"):
                self.assertIn(flag, given)

    def test_asks_for_certificates_only_where_that_was_asked_for(self):
        variable = "LOSSSCALERD_TLS_CLIENT_CA"
        self.assertNotIn(variable, resolve(TLS)["services"]["lossscalerd"].get("environment", {}))
        self.assertIn(variable, resolve(MTLS)["services"]["lossscalerd"]["environment"])

    def test_reads_its_files_from_the_folder_that_is_mounted(self):
        with tempfile.TemporaryDirectory() as folder:
            for files in (TLS, MTLS):
                server = resolve(files, LOSSSCALER_FILES=folder)["services"]["lossscalerd"]
                # A folder: a file of its own would stay the old one when it is replaced.
                self.assertIn((folder, "/etc/lossscaler", True), list(mounts(server)))
                read = [value for flag, value in flags(server) if flag in
                        ("--tls-cert", "--tls-key", "--token-file")]
                read += [value for name, value in server["environment"].items()
                         if name.startswith("LOSSSCALERD_TLS_")]
                for file in read:
                    self.assertEqual(os.path.dirname(file), "/etc/lossscaler")

    def test_is_found_healthy_by_a_socket_that_only_the_server_reaches(self):
        for files in (TLS, MTLS):
            server = resolve(files)["services"]["lossscalerd"]
            self.assertNotIn("healthcheck", server)  # The image's is: lossscalerctl health.
            address = server["environment"]["LOSSSCALER_ADDRESS"]
            self.assertIn(address, values(server, "--listen"))
            options = dict(tmpfs(server))[os.path.dirname(address.removeprefix("unix:"))]
            self.assertEqual((options["uid"], options["gid"], options["mode"]), ("10001", "10001", "0700"))


class ObservabilityTest(unittest.TestCase):
    def setUp(self):
        self.services = resolve(PLAIN + (OBSERVED,))["services"]

    def mounted(self, service, path):
        """The file of this project that a service sees at `path`."""
        for source, target, _ in mounts(self.services[service]):
            if path == target or path.startswith(target + "/"):
                return pathlib.Path(source + path.removeprefix(target))
        raise AssertionError(f"{service} has no mount that contains {path}")

    def prometheus(self):
        file = self.mounted("prometheus", dict(flags(self.services["prometheus"]))["--config.file"])
        return yaml.safe_load(file.read_text())

    def test_prometheus_asks_the_admin_port_of_the_server(self):
        jobs = self.prometheus()["scrape_configs"]
        self.assertEqual([job["job_name"] for job in jobs], ["lossscaler"])
        self.assertEqual([target for job in jobs for config in job["static_configs"]
                          for target in config["targets"]], ["lossscalerd:9551"])
        self.assertEqual(values(self.services["lossscalerd"], "--admin-listen"), ["0.0.0.0:9551"])

    def test_prometheus_has_the_alerts(self):
        folder = self.mounted("prometheus", "/etc/prometheus")
        files = self.prometheus()["rule_files"]
        self.assertEqual(files, ["alerts.yml"])
        for file in files:
            self.assertTrue((folder / file).is_file())

    def test_what_both_keep_is_in_volumes(self):
        for name, place in (("prometheus", "/prometheus"), ("grafana", "/var/lib/grafana")):
            self.assertIn((name, place, False), list(mounts(self.services[name])))
        self.assertEqual(dict(flags(self.services["prometheus"]))["--storage.tsdb.path"], "/prometheus")

    def test_grafana_asks_prometheus(self):
        provisioning = self.services["grafana"]["environment"]["GF_PATHS_PROVISIONING"]
        files = list(self.mounted("grafana", f"{provisioning}/datasources").glob("*.yaml"))
        (source,) = [source for file in files for source in yaml.safe_load(file.read_text())["datasources"]]
        self.assertEqual((source["type"], source["url"]), ("prometheus", "http://prometheus:9090"))
        self.assertEqual(source["jsonData"]["timeInterval"],
                         self.prometheus()["global"]["scrape_interval"])

    def test_grafana_has_the_dashboard(self):
        environment = self.services["grafana"]["environment"]
        files = list(self.mounted(
            "grafana", f"{environment['GF_PATHS_PROVISIONING']}/dashboards").glob("*.yaml"))
        (provider,) = [provider for file in files for provider in yaml.safe_load(file.read_text())["providers"]]
        dashboard = self.mounted("grafana", provider["options"]["path"]) / "lossscaler.json"
        self.assertTrue(dashboard.is_file())
        self.assertEqual(self.mounted("grafana", environment["GF_DASHBOARDS_DEFAULT_HOME_DASHBOARD_PATH"]),
                         dashboard)

    def test_grafana_lets_nobody_edit(self):
        environment = self.services["grafana"]["environment"]
        self.assertEqual(environment["GF_AUTH_ANONYMOUS_ORG_ROLE"], "Viewer")
        self.assertEqual(environment["GF_AUTH_DISABLE_LOGIN_FORM"], "true")
        self.assertEqual(environment["GF_SECURITY_DISABLE_INITIAL_ADMIN_CREATION"], "true")


class DocumentTest(unittest.TestCase):
    def test_names_files_that_go_together(self):
        text = (DOCKER / "README.md").read_text()
        text += "".join(file.read_text() for file in sorted(DOCKER.glob("compose*.yaml")))
        commands = re.findall(r"docker-compose((?: -f docker/\S+)+)", text)
        named = {tuple(re.findall(r"docker/(\S+)", command)) for command in commands}
        self.assertLessEqual(named, set(COMBINATIONS))
        self.assertLessEqual({PLAIN, TLS, MTLS, PLAIN + (OBSERVED,)}, named)


    def test_says_which_files_whenever_it_names_a_command(self):
        text = (DOCKER / "README.md").read_text()
        self.assertEqual(re.findall(r"docker-compose (?:build|config|down|exec|logs|ps|start|stop|up)\b.*", text), [])

    def test_has_no_word_that_stands_for_one_to_come(self):
        for file in sorted(DOCKER.glob("*.md")):
            with self.subTest(file.name):
                prose = re.sub(r"```.*?```", "", file.read_text(), flags=re.DOTALL)
                self.assertEqual(re.findall(r"\b(?:SIZE|TBD|XXX+|TODO|FIXME|\?\?\?+)\b.*", prose), [])


class FormatTest(unittest.TestCase):
    def test_both_generations_of_compose_take_the_files(self):
        files = sorted(DOCKER.glob("compose*.yaml"))
        self.assertEqual({file.name for file in files}, {name for files in COMBINATIONS for name in files})
        for file in files:
            with self.subTest(file.name):
                # The older one needs no version and knows no name, the newer warns of a version.
                self.assertLessEqual(set(yaml.safe_load(file.read_text())), {"services", "volumes"})


if __name__ == "__main__":
    if len(sys.argv) < 2 or shutil.which(sys.argv[1]) is None:
        sys.exit(__doc__)
    SERVER = str(pathlib.Path(sys.argv.pop(1)).resolve())
    unittest.main()
