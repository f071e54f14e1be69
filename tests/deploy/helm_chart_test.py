# Copyright 2026 The Loss Scaler Service Authors
# SPDX-License-Identifier: Apache-2.0
"""The Helm chart, rendered with every file of helm_values/.

usage: helm_chart_test.py --renderer FOLDER --version VERSION [unittest arguments]

FOLDER is where helm_render/build.sh put the renderer, VERSION the project's.
"""

import argparse
import json
import pathlib
import re
import sys
import tempfile
import tomllib
import unittest

import yaml

import helm_fields
import helm_renderer
from helm_renderer import CHART, NAMES, SOURCE, Refused, Release, named

VERSION = None
LABEL = re.compile(r"([A-Za-z0-9]([-A-Za-z0-9_.]*[A-Za-z0-9])?)?")
# What names of services must be; others may begin with a digit too.
DNS_LABEL = re.compile(r"[a-z]([-a-z0-9]*[a-z0-9])?")


def matches(selector, labels):
    return selector.items() <= labels.items()


def for_every_release(test):
    def run(self):
        for name in NAMES:
            with self.subTest(values=name):
                test(self, named(name))
    return run


class EveryRelease(unittest.TestCase):
    """What holds whatever the values are."""

    @for_every_release
    def test_has_only_fields_that_kubernetes_knows(self, release):
        self.assertTrue(release.documents)
        for document in release.documents:
            self.assertIn(document.get("kind"), helm_fields.KINDS)
            where = f"{document['kind']} {document['metadata']['name']}"
            self.assertEqual(helm_fields.problems(document, helm_fields.KINDS[document["kind"]], where), [])

    @for_every_release
    def test_has_names_and_labels_that_kubernetes_allows(self, release):
        self.check_names(release)

    def test_has_such_names_when_they_are_long_or_look_like_numbers(self):
        self.check_names(Release("--set=insecure=true", f"--set=fullnameOverride={'n' * 80}"))
        # The longest name that Helm allows for a release.
        self.check_names(Release("--release", "r" * 53, "--set", "insecure=true"))
        self.check_names(Release("--release", "1234", "--set", "insecure=true", "--set", "fullnameOverride=scaler"))

    def check_names(self, release):
        seen = set()
        for document in release.documents:
            metadata = document["metadata"]
            self.assertRegex(metadata["name"], rf"\A{DNS_LABEL.pattern}\Z")
            # Names of services are labels of DNS.
            self.assertLessEqual(len(metadata["name"]), 63)
            self.assertNotIn((document["kind"], metadata["name"]), seen)
            seen.add((document["kind"], metadata["name"]))
            for key, value in metadata["labels"].items():
                self.assertLessEqual(len(value), 63, key)
                self.assertRegex(value, rf"\A{LABEL.pattern}\Z", key)
        # The label controller-revision-hash is the name, a dash and ten characters.
        self.assertLessEqual(len(release.one("StatefulSet")["metadata"]["name"]), 63 - 11)

    @for_every_release
    def test_selects_the_pod_of_the_server_and_no_other(self, release):
        labels = release.pod["metadata"]["labels"]
        selectors = [service["spec"]["selector"] for service in release.all("Service")]
        selectors.append(release.one("StatefulSet")["spec"]["selector"]["matchLabels"])
        selectors += [budget["spec"]["selector"]["matchLabels"] for budget in release.all("PodDisruptionBudget")]
        selectors += [policy["spec"]["podSelector"]["matchLabels"] for policy in release.all("NetworkPolicy")]
        for selector in selectors:
            self.assertTrue(matches(selector, labels))
            for other in release.all("Pod"):
                self.assertFalse(matches(selector, other["metadata"]["labels"]))

    @for_every_release
    def test_has_one_server_that_is_found_by_the_headless_service(self, release):
        spec = release.one("StatefulSet")["spec"]
        self.assertEqual(spec["replicas"], 1)
        headless = release.one("Service", "-headless")
        self.assertEqual(spec["serviceName"], headless["metadata"]["name"])
        self.assertEqual(headless["spec"]["clusterIP"], "None")
        self.assertTrue(headless["spec"]["publishNotReadyAddresses"])

    @for_every_release
    def test_opens_the_ports_that_the_server_listens_at(self, release):
        config = tomllib.loads(release.config)
        listens = {"grpc": int(config["listen"][0].rpartition(":")[2])}
        if config["admin_listen"]:
            # From outside of the pod.
            self.assertNotRegex(config["admin_listen"], "^(127|localhost|.::1)")
            self.assertIs(config["admin_insecure"], True)
            listens["admin"] = int(config["admin_listen"].rpartition(":")[2])
        ports = {port["name"]: port["containerPort"] for port in release.container["ports"]}
        self.assertEqual(ports, listens)
        for service in release.all("Service"):
            for port in service["spec"]["ports"]:
                self.assertIn(port["targetPort"], ports)

    @for_every_release
    def test_lets_clients_reach_grpc_and_monitoring_reach_metrics_only(self, release):
        ports = {port["name"]: port["containerPort"] for port in release.container["ports"]}
        for policy in release.all("NetworkPolicy"):
            spec = policy["spec"]
            self.assertEqual(spec["policyTypes"], ["Ingress", "Egress"])
            self.assertEqual(spec["egress"], [])
            clients, *metrics = spec["ingress"]
            self.assertEqual([port["port"] for port in clients["ports"]], [ports["grpc"]])
            # The kubelet asks too where metrics are off, but comes in anyway.
            opened = [port["port"] for rule in metrics for port in rule["ports"]]
            scraped = [port["name"] for port in release.one("Service", "-headless")["spec"]["ports"][1:]]
            self.assertEqual(opened, [ports[name] for name in scraped])
            for rule in (clients, *metrics):
                # To Kubernetes no peers, and an empty peer, are everyone.
                self.assertTrue(rule["from"])
                self.assertTrue(all(rule["from"]))

    @for_every_release
    def test_lets_the_pod_of_the_test_reach_the_server(self, release):
        for pod in release.all("Pod"):
            self.assertEqual(pod["metadata"]["annotations"]["helm.sh/hook"], "test")
            for policy in release.all("NetworkPolicy"):
                peers = policy["spec"]["ingress"][0]["from"]
                self.assertTrue(any(
                    peer.keys() == {"podSelector"}
                    and matches(peer["podSelector"].get("matchLabels", {}), pod["metadata"]["labels"])
                    for peer in peers))

    @for_every_release
    def test_mounts_every_volume_once_and_nothing_else(self, release):
        pods = [(release.pod["spec"], release.one("StatefulSet")["spec"].get("volumeClaimTemplates", []))]
        pods += [(pod["spec"], []) for pod in release.all("Pod")]
        for pod, claims in pods:
            volumes = [volume["name"] for volume in pod.get("volumes", [])]
            volumes += [claim["metadata"]["name"] for claim in claims]
            mounts = pod["containers"][0].get("volumeMounts", [])
            self.assertEqual(sorted(volumes), sorted(mount["name"] for mount in mounts))
            paths = [mount["mountPath"] for mount in mounts]
            self.assertEqual(len(paths), len(set(paths)))

    @for_every_release
    def test_names_files_that_are_mounted(self, release):
        mounted = {}
        for mount in release.container["volumeMounts"]:
            for volume in release.pod["spec"]["volumes"]:
                if volume["name"] != mount["name"]:
                    continue
                for item in volume.get("secret", {}).get("items", []):
                    mounted[f"{mount['mountPath']}/{item['path']}"] = item["key"]
                if "configMap" in volume:
                    data = release.one("ConfigMap")["data"]
                    self.assertEqual(volume["configMap"]["name"], release.one("ConfigMap")["metadata"]["name"])
                    mounted |= {f"{mount['mountPath']}/{key}": key for key in data}
        config = tomllib.loads(release.config)
        wanted = {config[key] for key in ("tls_cert", "tls_key", "tls_client_ca", "token_file") if key in config}
        self.assertEqual(release.container["args"][0], "--config")
        wanted.add(release.container["args"][1])
        self.assertEqual(wanted, set(mounted))

    @for_every_release
    def test_keeps_state_in_a_volume_and_writes_nowhere_else(self, release):
        config = tomllib.loads(release.config)
        state = config["store"].removeprefix("sqlite:")
        writable = {mount["mountPath"] for mount in release.container["volumeMounts"] if not mount.get("readOnly")}
        self.assertEqual(writable, {state, "/run/lossscaler", "/tmp"})
        self.assertIn("unix:/run/lossscaler/socket", config["listen"])

    @for_every_release
    def test_hides_keys_and_tokens_from_others_than_the_server(self, release):
        pods = [release.pod["spec"]] + [pod["spec"] for pod in release.all("Pod")]
        for pod in pods:
            for volume in pod.get("volumes", []):
                if "secret" in volume:
                    self.assertEqual(volume["secret"]["defaultMode"], 0o440)
                    self.assertEqual(pod["securityContext"]["fsGroup"], 10001)

    @for_every_release
    def test_shows_nothing_secret(self, release):
        self.assertNotIn("Secret", release.kinds())
        self.assertEqual(list(release.one("ConfigMap")["data"]), ["lossscalerd.toml"])
        for word in ("BEGIN ", "sha256 =", "[[token]]"):
            self.assertNotIn(word, release.config)

    @for_every_release
    def test_runs_with_the_least_rights(self, release):
        for pod in [release.pod["spec"]] + [pod["spec"] for pod in release.all("Pod")]:
            self.assertIs(pod["automountServiceAccountToken"], False)
            # Else a service named lossscalerd becomes LOSSSCALERD_PORT, which is no setting.
            self.assertIs(pod["enableServiceLinks"], False)
            context = pod["securityContext"]
            self.assertIs(context["runAsNonRoot"], True)
            self.assertEqual((context["runAsUser"], context["runAsGroup"]), (10001, 10001))
            self.assertEqual(context["seccompProfile"], {"type": "RuntimeDefault"})
            for container in pod["containers"]:
                context = container["securityContext"]
                self.assertIs(context["allowPrivilegeEscalation"], False)
                self.assertIs(context["readOnlyRootFilesystem"], True)
                self.assertIs(context.get("privileged", False), False)
                self.assertEqual(context["capabilities"], {"drop": ["ALL"]})
        for account in release.all("ServiceAccount"):
            self.assertIs(account["automountServiceAccountToken"], False)

    @for_every_release
    def test_gives_the_server_longer_than_it_takes_to_drain(self, release):
        drain = re.fullmatch(r"(\d+)s", tomllib.loads(release.config)["drain_timeout"])
        self.assertGreaterEqual(release.pod["spec"]["terminationGracePeriodSeconds"], int(drain[1]) + 10)

    @for_every_release
    def test_never_ends_the_server_for_what_its_store_does(self, release):
        # See server/README.md, "Health".
        part = re.search(r'kHealthProcess\[\] = "([^"]+)"', (SOURCE / "server/app.h").read_text())[1]
        for name in ("startupProbe", "livenessProbe"):
            asked = {kind: what for kind, what in release.container[name].items() if kind in ("grpc", "httpGet")}
            self.assertIn(asked, ({"grpc": {"port": 50551, "service": part}},
                                  {"httpGet": {"path": "/healthz", "port": "admin"}}))

    @for_every_release
    def test_probes_by_grpc_except_with_tls_of_which_the_kubelets_knows_nothing(self, release):
        way = "httpGet" if "tls_cert" in tomllib.loads(release.config) else "grpc"
        for name in ("startupProbe", "livenessProbe", "readinessProbe"):
            probe = release.container[name]
            self.assertEqual({"grpc", "httpGet"} & probe.keys(), {way})
            ports = {key: port["containerPort"] for port in release.container["ports"]
                     for key in (port["name"], port["containerPort"])}
            self.assertIn(probe[way]["port"], ports)

    def test_is_the_same_when_numbers_are_given_as_written(self):
        for name in NAMES:
            with self.subTest(values=name):
                file = ["-f", helm_renderer.VALUES / f"{name}.yaml"]
                self.assertEqual(helm_renderer.text(*file), helm_renderer.text("-exact-numbers", *file))

    def test_has_notes_with_the_address_of_the_service(self):
        for name in NAMES:
            with self.subTest(values=name):
                file = ["-f", helm_renderer.VALUES / f"{name}.yaml", "--namespace", "training"]
                service = next(service for service in Release(*file).all("Service")
                               if not service["metadata"]["name"].endswith("-headless"))
                address = f"{service['metadata']['name']}.training.svc:{service['spec']['ports'][0]['port']}"
                notes = helm_renderer.text("-notes", *file)
                self.assertIn(f"LOSSSCALER_ADDRESS={address}\n", notes)
                self.assertEqual("WARNING: insecure=true" in notes, name not in ("tokens", "mtls", "everything"))


class Values(unittest.TestCase):
    """What single values do."""

    def assert_refused(self, why, *sets):
        with self.assertRaisesRegex(Refused, why):
            helm_renderer.text(*(f"--set={text}" for text in sets))

    def test_that_protect_nothing_are_refused(self):
        self.assert_refused("nothing would protect the server: set tls.existingSecret")
        self.assert_refused("nothing would protect the server", "tokens.existingSecret=t")
        self.assert_refused("TLS is on, but anyone could call: set tokens.existingSecret or", "tls.existingSecret=s")

    def test_that_contradict_are_refused(self):
        self.assert_refused("without TLS no client shows a certificate", "insecure=true",
                            "tls.clientCA.existingSecret=c")
        for value in ("serviceMonitor.enabled", "prometheusRule.enabled"):
            self.assert_refused("set metrics.enabled too", "insecure=true", "metrics.enabled=false", f"{value}=true")

    def test_that_do_not_exist_are_refused(self):
        self.assert_refused("Additional property replicas is not allowed", "insecure=true", "replicas=2")
        self.assert_refused("Additional property exsitingSecret", "insecure=true", "tls.exsitingSecret=s")

    def test_of_the_wrong_type_are_refused(self):
        self.assert_refused("drainTimeoutSeconds", "insecure=true", "drainTimeoutSeconds=20s")
        self.assert_refused("drainTimeoutSeconds", "insecure=true", "drainTimeoutSeconds=3601")
        self.assert_refused("maxUnavailable", "insecure=true", "podDisruptionBudget.maxUnavailable=2")
        self.assert_refused("listenHost", "insecure=true", "listenHost=::")
        self.assert_refused("size", "insecure=true", "persistence.size=10GB")

    def test_that_would_let_everyone_in_by_being_empty_are_refused(self):
        for peers in ("[]", "[{}]"):
            with self.assertRaisesRegex(Refused, "networkPolicy.clients"):
                self.render_with(f"insecure: true\nnetworkPolicy: {{clients: {peers}}}\n")

    def test_of_settings_that_the_chart_sets_are_refused(self):
        owned = set(tomllib.loads(named("mtls").config)) | set(tomllib.loads(named("tokens").config))
        for key in owned - {"log_format"}:
            self.assert_refused(rf"settings\.{key} is set by the chart: use the value \w+", "insecure=true",
                                f"settings.{key}=x")

    def render_with(self, text):
        file = pathlib.Path(self.enterContext(tempfile.TemporaryDirectory())) / "values.yaml"
        file.write_text(text)
        return Release("-f", file)

    def test_of_settings_reach_the_file_with_their_types(self):
        config = tomllib.loads(self.render_with(
            "insecure: true\nsettings: {max_sessions: 10000000, log_level: 'de\"bug<', reflection: true}\n").config)
        self.assertEqual(config["max_sessions"], 10_000_000)
        self.assertEqual(config["log_level"], 'de"bug<')
        self.assertIs(config["reflection"], True)

    def test_of_settings_restart_the_server_and_others_do_not(self):
        def checksum(*sets):
            return Release("--set=insecure=true", *sets).pod["metadata"]["annotations"]["checksum/config"]
        self.assertNotEqual(checksum(), checksum("--set=settings.max_sessions=7"))
        self.assertEqual(checksum(), checksum("--set=podDisruptionBudget.maxUnavailable=0"))

    def test_of_drain_time_set_both_times(self):
        release = Release("--set=insecure=true", "--set=drainTimeoutSeconds=300")
        self.assertEqual(tomllib.loads(release.config)["drain_timeout"], "300s")
        self.assertEqual(release.pod["spec"]["terminationGracePeriodSeconds"], 310)

    def test_of_tls_decide_how_readiness_asks_for_the_whole_server(self):
        for values in ("insecure", "monitored", "ephemeral", "unmeasured"):
            self.assertEqual(named(values).container["readinessProbe"]["grpc"], {"port": 50551})
        for values in ("tokens", "mtls", "everything"):
            self.assertEqual(named(values).container["readinessProbe"]["httpGet"], {"path": "/readyz", "port": "admin"})

    def test_of_metrics_and_tls_decide_who_can_reach_the_admin_port(self):
        # Whether the pod has it, and whether others than the kubelet are led there.
        for values, pod, others in (("insecure", True, True), ("tokens", True, True), ("mtls", True, False),
                                    ("unmeasured", False, False)):
            release = named(values)
            self.assertEqual("admin" in [port["name"] for port in release.container["ports"]], pod, values)
            self.assertEqual(tomllib.loads(release.config)["admin_listen"] != "", pod, values)
            headless = release.one("Service", "-headless")["spec"]["ports"]
            self.assertEqual("admin" in [port["name"] for port in headless], others, values)
            self.assertEqual(len(release.one("NetworkPolicy")["spec"]["ingress"]), 2 if others else 1, values)
            notes = helm_renderer.text("-notes", "-f", helm_renderer.VALUES / f"{values}.yaml")
            self.assertEqual("lossscaler-headless.default.svc:9551" in notes, others, values)

    def test_of_tls_and_tokens_reach_the_server(self):
        config = tomllib.loads(named("tokens").config)
        self.assertLessEqual({"tls_cert", "tls_key", "token_file"}, set(config))
        self.assertNotIn("tls_client_ca", config)
        self.assertIs(config["insecure"], False)
        secrets = {volume["name"]: volume["secret"] for volume in named("tokens").pod["spec"]["volumes"]
                   if "secret" in volume}
        self.assertEqual(secrets["tls"]["secretName"], "serving-certificate")
        self.assertEqual(secrets["tokens"]["secretName"], "callers")

    def test_of_client_authorities_reach_the_server(self):
        release = named("mtls")
        config = tomllib.loads(release.config)
        self.assertNotIn("token_file", config)
        self.assertIs(config["insecure"], False)
        volume = next(volume for volume in release.pod["spec"]["volumes"] if volume["name"] == "client-ca")
        self.assertEqual(volume["secret"]["secretName"], "client-authority")
        self.assertEqual(volume["secret"]["items"], [{"key": "authority.pem", "path": "ca.crt"}])

    def test_with_tls_make_the_test_pod_show_what_the_server_wants(self):
        self.assertEqual(named("tokens").all("Pod"), [])
        variables = {variable["name"]: variable["value"] for variable in
                     named("mtls").one("Pod")["spec"]["containers"][0]["env"]}
        self.assertEqual(set(variables), {"LOSSSCALER_ADDRESS", "LOSSSCALER_CA_FILE", "LOSSSCALER_CERT_FILE",
                                          "LOSSSCALER_KEY_FILE"})
        self.assertEqual(variables["LOSSSCALER_ADDRESS"], "lossscaler.default.svc:50551")

    def test_make_a_claim_unless_they_name_one_or_want_none(self):
        claim = named("insecure").one("StatefulSet")["spec"]["volumeClaimTemplates"][0]
        self.assertEqual(claim["spec"], {"accessModes": ["ReadWriteOnce"],
                                         "resources": {"requests": {"storage": "10Gi"}}})
        fast = Release("--set=insecure=true", "--set=persistence.storageClass=fast").one("StatefulSet")
        self.assertEqual(fast["spec"]["volumeClaimTemplates"][0]["spec"]["storageClassName"], "fast")
        for values, wanted in (("ephemeral", {"emptyDir": {}}),
                               ("everything", {"persistentVolumeClaim": {"claimName": "0123"}})):
            release = named(values)
            self.assertNotIn("volumeClaimTemplates", release.one("StatefulSet")["spec"])
            state = next(volume for volume in release.pod["spec"]["volumes"] if volume["name"] == "state")
            self.assertEqual(state, {"name": "state", **wanted})

    def test_that_vary_between_upgrades_stay_out_of_what_cannot_be_changed(self):
        spec = Release("--set=insecure=true", "--set=extraLabels.team=vision").one("StatefulSet")["spec"]
        fixed = spec["selector"]["matchLabels"]
        self.assertEqual(set(fixed), {f"app.kubernetes.io/{part}" for part in ("name", "instance", "component")})
        self.assertEqual(spec["volumeClaimTemplates"][0]["metadata"]["labels"], fixed)

    def test_of_monitoring_find_the_port_of_the_headless_service(self):
        for values in ("monitored", "everything"):
            release = named(values)
            monitor = release.one("ServiceMonitor")["spec"]
            found = [service for service in release.all("Service")
                     if matches(monitor["selector"]["matchLabels"], service["metadata"]["labels"])]
            self.assertEqual([service["spec"].get("clusterIP") for service in found], ["None"])
            ports = [port["name"] for port in found[0]["spec"]["ports"]]
            self.assertIn(monitor["endpoints"][0]["port"], ports)
            self.assertEqual(release.one("ServiceMonitor")["metadata"]["labels"]["release"], "prometheus")
            # Without it alerts would say that there is no server.
            self.assertIn('absent(up{job="lossscaler"})', (SOURCE / "docker/prometheus/alerts.yml").read_text())
            self.assertEqual(monitor["endpoints"][0]["relabelings"],
                             [{"targetLabel": "job", "replacement": "lossscaler"}])

    def test_of_alerts_bring_the_rules_that_prometheus_has(self):
        rules = yaml.safe_load((SOURCE / "docker/prometheus/alerts.yml").read_text())
        self.assertTrue(rules["groups"])
        self.assertEqual(named("monitored").one("PrometheusRule")["spec"], rules)

    def test_decide_what_there_is(self):
        always = ["ConfigMap", "Service", "Service", "StatefulSet"]
        self.assertEqual(named("ephemeral").kinds(), sorted([*always, "Pod"]))
        usual = [*always, "NetworkPolicy", "PodDisruptionBudget", "ServiceAccount"]
        self.assertEqual(named("tokens").kinds(), sorted(usual))
        self.assertEqual(named("everything").kinds(),
                         sorted([*usual, "Pod", "PrometheusRule", "ServiceMonitor"]))

    def test_of_eviction_reach_the_budget(self):
        for number in (0, 1):
            budget = Release("--set=insecure=true", f"--set=podDisruptionBudget.maxUnavailable={number}").one(
                "PodDisruptionBudget")
            self.assertEqual(budget["spec"]["maxUnavailable"], number)

    def test_of_places_reach_the_pod(self):
        release = named("everything")
        pod = release.pod["spec"]
        self.assertEqual(pod["nodeSelector"], {"disk": "local"})
        self.assertEqual(pod["tolerations"], [{"key": "training", "operator": "Exists", "effect": "NoSchedule"}])
        self.assertIn("nodeAffinity", pod["affinity"])
        self.assertEqual(pod["priorityClassName"], "high")
        self.assertEqual(pod["imagePullSecrets"], [{"name": "pull"}])
        self.assertEqual(pod["serviceAccountName"], "keeper")
        self.assertEqual(release.pod["metadata"]["annotations"]["example.com/note"], "7")
        self.assertEqual(release.pod["metadata"]["labels"]["example.com/tier"], "training")
        for document in release.documents:
            self.assertEqual(document["metadata"]["labels"]["example.com/team"], "vision")
        self.assertEqual(release.container["image"], "images.example/loss/lossscalerd@sha256:" + "0123456789abcdef" * 4)
        self.assertIn({"name": "GRPC_VERBOSITY", "value": "INFO"}, release.container["env"])


class TheChart(unittest.TestCase):
    def test_has_the_version_of_the_project(self):
        chart = yaml.safe_load((CHART / "Chart.yaml").read_text())
        self.assertEqual(chart["appVersion"], VERSION)
        self.assertEqual(named("insecure").container["image"], f"lossscalerd:{VERSION}")

    def test_has_every_value_in_its_schema_and_no_other(self):
        schema = json.loads((CHART / "values.schema.json").read_text())
        values = yaml.safe_load((CHART / "values.yaml").read_text())
        # What Helm hands to every chart.
        del schema["properties"]["global"]
        self.compare(values, schema, "")

    def compare(self, values, schema, where):
        self.assertIs(schema["additionalProperties"], False, where)
        self.assertEqual(set(values), set(schema["properties"]) - {"claims"}, where)
        for key, inner in schema["properties"].items():
            if "properties" in inner and key != "resources":
                self.compare(values[key], inner, f"{where}.{key}")

    def test_explains_every_value(self):
        lines = (CHART / "values.yaml").read_text().splitlines()
        for number, line in enumerate(lines):
            # A value, not a table of values, nor what is inside of a default.
            if re.match(r"( {2})*\w+:", line) and not self.is_table(lines, number) and not self.is_inside(lines, number):
                self.assertRegex(lines[number - 1], r"^ *# ", line)

    def is_table(self, lines, number):
        return lines[number].endswith(":") and not lines[number - 1].strip().startswith("#")

    def is_inside(self, lines, number):
        """Whether an explained value further out holds this line."""
        indent = len(lines[number]) - len(lines[number].lstrip())
        for above in range(number - 1, -1, -1):
            line = lines[above]
            if not line.strip() or line.strip().startswith("#"):
                continue
            outer = len(line) - len(line.lstrip())
            if outer < indent:
                if not self.is_table(lines, above):
                    return True
                indent = outer
        return False


def main():
    global VERSION
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--renderer", required=True, type=pathlib.Path)
    parser.add_argument("--version", required=True)
    options, rest = parser.parse_known_args()
    helm_renderer.folder = options.renderer.resolve()
    VERSION = options.version
    unittest.main(argv=[sys.argv[0], *rest])


if __name__ == "__main__":
    main()
