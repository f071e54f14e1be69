# Copyright 2026 The Loss Scaler Service Authors
# SPDX-License-Identifier: Apache-2.0
"""The fields of Kubernetes' API (1.27) that the chart may use, and their types.

Kubernetes drops or refuses a field that it does not know, and a chart with one still
renders: hence this list, written by hand from the API's reference. A dict is an object
with no other fields; those whose name ends with ! must be there. A list holds what its
one member says.
"""

TEXTS = "texts"  # Text by text.
ANY = "any"  # What users give, as it is.

_METADATA = {"name!": str, "namespace": str, "labels": TEXTS, "annotations": TEXTS}
_SELECTOR = {"matchLabels!": TEXTS}
_PORT = (int, str)

_HANDLER = {
    "httpGet": {"path!": str, "port!": _PORT, "scheme": str},
    # No name of a port here, unlike in httpGet.
    "grpc": {"port!": int, "service": str},
}
_PROBE = _HANDLER | {"initialDelaySeconds": int, "periodSeconds": int, "timeoutSeconds": int,
                     "successThreshold": int, "failureThreshold": int}

_CONTAINER = {
    "name!": str, "image!": str, "imagePullPolicy": str, "command": [str], "args": [str],
    "env": [{"name!": str, "value": str, "valueFrom": ANY}],
    "ports": [{"name!": str, "containerPort!": int, "protocol": str}],
    "startupProbe": _PROBE, "livenessProbe": _PROBE, "readinessProbe": _PROBE,
    "resources": {"requests": ANY, "limits": ANY},
    "securityContext!": {
        "allowPrivilegeEscalation!": bool, "readOnlyRootFilesystem!": bool, "privileged": bool,
        "capabilities!": {"drop!": [str]}},
    "volumeMounts": [{"name!": str, "mountPath!": str, "readOnly": bool}],
}

_VOLUME = {
    "name!": str,
    "configMap": {"name!": str},
    "secret": {"secretName!": str, "defaultMode!": int, "items": [{"key!": str, "path!": str}]},
    "emptyDir": {"medium": str, "sizeLimit": str},
    "persistentVolumeClaim": {"claimName!": str},
}

_POD = {
    "serviceAccountName": str, "automountServiceAccountToken!": bool, "enableServiceLinks!": bool,
    "terminationGracePeriodSeconds": int, "restartPolicy": str,
    "securityContext!": {
        "runAsNonRoot!": bool, "runAsUser!": int, "runAsGroup!": int, "fsGroup!": int,
        "fsGroupChangePolicy": str, "seccompProfile!": {"type!": str}},
    "imagePullSecrets": [{"name!": str}],
    "containers!": [_CONTAINER], "volumes": [_VOLUME],
    "nodeSelector": TEXTS, "tolerations": [ANY], "affinity": ANY, "priorityClassName": str,
}

_CLAIM = {
    "metadata!": {"name!": str, "labels": TEXTS},
    "spec!": {"accessModes!": [str], "storageClassName": str,
              "resources!": {"requests!": {"storage!": str}}},
}


def _document(version, kind, **rest):
    return {"apiVersion!": {version}, "kind!": {kind}, "metadata!": _METADATA, **rest}


KINDS = {
    "ServiceAccount": _document("v1", "ServiceAccount", **{"automountServiceAccountToken!": bool}),
    "ConfigMap": _document("v1", "ConfigMap", **{"data!": TEXTS}),
    "Service": _document("v1", "Service", **{"spec!": {
        "type": str, "clusterIP": str, "publishNotReadyAddresses": bool, "selector!": TEXTS,
        "ports!": [{"name!": str, "port!": int, "targetPort!": _PORT, "protocol": str}]}}),
    "Pod": _document("v1", "Pod", **{"spec!": _POD}),
    "StatefulSet": _document("apps/v1", "StatefulSet", **{"spec!": {
        "replicas!": int, "serviceName!": str, "selector!": _SELECTOR,
        "template!": {"metadata!": {"labels!": TEXTS, "annotations": TEXTS}, "spec!": _POD},
        "volumeClaimTemplates": [_CLAIM]}}),
    "PodDisruptionBudget": _document("policy/v1", "PodDisruptionBudget", **{"spec!": {
        "maxUnavailable!": int, "unhealthyPodEvictionPolicy": str, "selector!": _SELECTOR}}),
    "NetworkPolicy": _document("networking.k8s.io/v1", "NetworkPolicy", **{"spec!": {
        "podSelector!": _SELECTOR, "policyTypes!": [str],
        "ingress!": [{"from!": [{"podSelector": ANY, "namespaceSelector": ANY, "ipBlock": ANY}],
                      "ports!": [{"port!": int, "protocol": str}]}],
        "egress!": [ANY]}}),
    "ServiceMonitor": _document("monitoring.coreos.com/v1", "ServiceMonitor", **{"spec!": {
        "selector!": _SELECTOR,
        "endpoints!": [{"port!": str, "path": str, "interval": str, "scrapeTimeout": str,
                        "relabelings": [{"targetLabel!": str, "replacement!": str}]}]}}),
    "PrometheusRule": _document("monitoring.coreos.com/v1", "PrometheusRule", **{"spec!": {
        "groups!": [{"name!": str, "interval": str, "rules!": [{
            "alert": str, "record": str, "expr!": _PORT, "for": str, "keep_firing_for": str,
            "labels": TEXTS, "annotations": TEXTS}]}]}}),
}


def problems(value, wanted, where):
    """What of `value` is not as wanted, each with its path."""
    if wanted is ANY:
        return []
    if wanted is TEXTS:
        wanted = {key: str for key in value} if isinstance(value, dict) else dict
    if isinstance(wanted, dict):
        return list(_problems_of_object(value, wanted, where))
    if isinstance(wanted, list):
        if not isinstance(value, list):
            return [f"{where}: {value!r} is no list"]
        return [problem for index, member in enumerate(value)
                for problem in problems(member, wanted[0], f"{where}[{index}]")]
    if isinstance(wanted, set):
        return [] if value in wanted else [f"{where}: {value!r} is none of {sorted(wanted)}"]
    # To Python, true is a whole number.
    fits = type(value) in wanted if isinstance(wanted, tuple) else type(value) is wanted
    return [] if fits else [f"{where}: {value!r} is of the wrong type"]


def _problems_of_object(value, wanted, where):
    if not isinstance(value, dict):
        yield f"{where}: {value!r} is no object"
        return
    types = {name.removesuffix("!"): inner for name, inner in wanted.items()}
    for name, inner in value.items():
        if name not in types:
            yield f"{where}: there is no field {name}"
        else:
            yield from problems(inner, types[name], f"{where}.{name}")
    for name in wanted:
        if name.endswith("!") and name.removesuffix("!") not in value:
            yield f"{where}: {name.removesuffix('!')} is missing"
