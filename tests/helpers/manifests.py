"""Compact schemas of the manifests that examples use, after the public API references.

Only fields that an example has stand here; a field that the API does not know, or that stands in the
wrong place, is a fault.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import jsonschema  # type: ignore[import-untyped]

Schema = dict[str, Any]

TEXT: Schema = {"type": "string", "minLength": 1}
LABEL: Schema = {"type": "string", "pattern": r"^[a-z]([-a-z0-9]{0,61}[a-z0-9])?$"}
COUNT: Schema = {"type": "integer", "minimum": 0}
PORT: Schema = {"type": "integer", "minimum": 1, "maximum": 65535}
FLAG: Schema = {"type": "boolean"}
LABELS: Schema = {"type": "object", "additionalProperties": TEXT}


def obj(*required: str, **fields: Schema) -> Schema:
    """Describe an object by its fields; those named first are needed."""
    return {
        "type": "object",
        "properties": fields,
        "required": list(required),
        "additionalProperties": False,
    }


def array(items: Schema) -> Schema:
    return {"type": "array", "items": items, "minItems": 0}


def one_of(*values: object) -> Schema:
    return {"enum": list(values)}


def kind(api: str, name: str, spec: Schema, **metadata: Schema) -> Schema:
    """Describe a Kubernetes object."""
    meta = obj("name", name=LABEL, labels=LABELS, **metadata)
    return obj(
        "apiVersion", "kind", "metadata", "spec",
        apiVersion={"const": api}, kind={"const": name}, metadata=meta, spec=spec,
    )  # fmt: skip


# -- pods ----------------------------------------------------------------------------------------------

PROBE = obj(
    "httpGet",
    httpGet=obj("path", "port", path=TEXT, port=PORT),
    initialDelaySeconds=COUNT,
    periodSeconds=COUNT,
    timeoutSeconds=COUNT,
)
CONTAINER = obj(
    "name", "image",
    name=LABEL,
    image=TEXT,
    command=array(TEXT),
    args=array(TEXT),
    env=array(obj("name", "value", name=TEXT, value={"type": "string"})),
    resources=obj(limits=LABELS),
    readinessProbe=PROBE,
    livenessProbe=PROBE,
    securityContext=obj(runAsUser=COUNT, runAsGroup=COUNT),
    volumeMounts=array(obj("name", "mountPath", name=LABEL, mountPath=TEXT, readOnly=FLAG)),
)  # fmt: skip
VOLUME = obj(
    "name",
    name=LABEL,
    emptyDir=obj(medium=one_of("", "Memory"), sizeLimit=TEXT),
    secret=obj("secretName", secretName=LABEL, defaultMode={"type": "integer", "maximum": 0o777}),
)


def pods(*policies: str) -> Schema:
    """Describe a pod template; where policies are given, restartPolicy is one of them."""
    fields = {"restartPolicy": one_of(*policies)} if policies else {}
    spec = obj(
        "containers",
        containers=array(CONTAINER),
        volumes=array(VOLUME),
        securityContext=obj(fsGroup=COUNT),
        subdomain=LABEL,
        terminationGracePeriodSeconds=COUNT,
        **fields,
    )
    return obj("spec", metadata=obj(labels=LABELS), spec=spec)


# -- what makes pods -------------------------------------------------------------------------------------

ON_EXIT_CODES = obj(
    "operator", "values", operator=one_of("In", "NotIn"), values=array({"type": "integer"})
)
JOB_SPEC = obj(
    "template",
    backoffLimit=COUNT,
    completionMode=one_of("Indexed", "NonIndexed"),
    completions=COUNT,
    parallelism=COUNT,
    ttlSecondsAfterFinished=COUNT,
    podFailurePolicy=obj(
        "rules",
        rules=array(
            obj(
                "action",
                action=one_of("FailJob", "FailIndex", "Ignore", "Count"),
                onExitCodes=ON_EXIT_CODES,
            )
        ),
    ),
    template=pods("Never", "OnFailure"),
)
SERVICE_SPEC = obj(
    "selector", clusterIP={"const": "None"}, publishNotReadyAddresses=FLAG, selector=LABELS
)
STATEFUL_SET_SPEC = obj(
    "serviceName", "selector", "template",
    serviceName=LABEL,
    replicas=COUNT,
    podManagementPolicy=one_of("OrderedReady", "Parallel"),
    selector=obj("matchLabels", matchLabels=LABELS),
    template=pods("Always"),
)  # fmt: skip
REPLICATED_JOB = obj(
    "name", "template",
    name=LABEL,
    replicas=COUNT,
    template=obj("spec", metadata=obj(labels=LABELS), spec=JOB_SPEC),
)  # fmt: skip
_TARGETS = array(LABEL)
JOBSET_SPEC = obj(
    "replicatedJobs",
    network=obj(enableDNSHostnames=FLAG, publishNotReadyAddresses=FLAG, subdomain=LABEL),
    successPolicy=obj("operator", operator=one_of("All", "Any"), targetReplicatedJobs=_TARGETS),
    failurePolicy=obj(
        maxRestarts=COUNT,
        rules=array(
            obj(
                "action",
                action=one_of(
                    "FailJobSet", "RestartJobSet", "RestartJobSetAndIgnoreMaxRestarts"
                ),
                targetReplicatedJobs=_TARGETS,
                onJobFailureReasons=array(
                    one_of(
                        "BackoffLimitExceeded", "DeadlineExceeded", "FailedIndexes",
                        "MaxFailedIndexesExceeded", "PodFailurePolicy",
                    )
                ),
            )
        ),
    ),
    replicatedJobs=array(REPLICATED_JOB),
)  # fmt: skip
_REPLICAS = obj(
    "replicas", "template",
    replicas=COUNT, restartPolicy=one_of("Never", "OnFailure"), template=pods(),
)  # fmt: skip
MPIJOB_SPEC = obj(
    "mpiReplicaSpecs",
    slotsPerWorker=COUNT,
    sshAuthMountPath=TEXT,
    mpiImplementation=one_of("OpenMPI", "Intel", "MPICH"),
    launcherCreationPolicy=one_of("AtStartup", "WaitForWorkersReady"),
    runLauncherAsWorker=FLAG,
    runPolicy=obj(
        cleanPodPolicy=one_of("None", "Running", "All"),
        backoffLimit=COUNT,
        ttlSecondsAfterFinished=COUNT,
    ),
    mpiReplicaSpecs=obj("Launcher", Launcher=_REPLICAS, Worker=_REPLICAS),
)
RUNTIME_SPEC = obj(
    mlPolicy=obj(
        numNodes=COUNT,
        mpi=obj(
            numProcPerNode=COUNT,
            mpiImplementation={"const": "OpenMPI"},
            sshAuthMountPath=TEXT,
            runLauncherAsNode=FLAG,
        ),
    ),
    template=obj("spec", spec=JOBSET_SPEC),
)
TRAINJOB_SPEC = obj(
    "runtimeRef",
    runtimeRef=obj("name", name=LABEL),
    trainer=obj(numNodes=COUNT, command=array(TEXT), args=array(TEXT)),
)
_EVENTS = (
    "PodFailed", "PodEvicted", "PodPending", "PodRunning", "Unknown", "TaskCompleted", "TaskFailed",
    "*",
)  # fmt: skip
_ACTIONS = ("AbortJob", "RestartJob", "RestartTask", "TerminateJob", "CompleteJob", "ResumeJob")
_POLICY = {
    **obj("action", event=one_of(*_EVENTS), exitCode={"type": "integer"}, action=one_of(*_ACTIONS)),
    "oneOf": [{"required": ["event"]}, {"required": ["exitCode"]}],
}
VOLCANO_SPEC = obj(
    "tasks",
    schedulerName=LABEL,
    minAvailable=COUNT,
    maxRetry=COUNT,
    plugins={"type": "object", "additionalProperties": array(TEXT)},
    policies=array(_POLICY),
    tasks=array(
        obj(
            "name", "replicas", "template",
            name=LABEL, replicas=COUNT, policies=array(_POLICY), template=pods("Never", "OnFailure"),
        )
    ),
)  # fmt: skip

KINDS: Mapping[tuple[str, str], Schema] = {
    (api, name): kind(api, name, spec)
    for api, name, spec in (
        ("v1", "Service", SERVICE_SPEC),
        ("apps/v1", "StatefulSet", STATEFUL_SET_SPEC),
        ("batch/v1", "Job", JOB_SPEC),
        ("jobset.x-k8s.io/v1alpha2", "JobSet", JOBSET_SPEC),
        ("kubeflow.org/v2beta1", "MPIJob", MPIJOB_SPEC),
        ("trainer.kubeflow.org/v1alpha1", "ClusterTrainingRuntime", RUNTIME_SPEC),
        ("trainer.kubeflow.org/v1alpha1", "TrainJob", TRAINJOB_SPEC),
        ("batch.volcano.sh/v1alpha1", "Job", VOLCANO_SPEC),
    )
}

# -- AWS Batch and compose -------------------------------------------------------------------------------

_PAIR = array(obj("name", "value", name=TEXT, value={"type": "string"}))
_BATCH_CONTAINER = obj(
    "image", "resourceRequirements",
    image=TEXT,
    command=array(TEXT),
    executionRoleArn={"type": "string", "pattern": "^arn:aws:iam::"},
    environment=_PAIR,
    secrets=array(obj("name", "valueFrom", name=TEXT, valueFrom={"pattern": "^arn:aws:"})),
    resourceRequirements=array(
        obj("type", "value", type=one_of("VCPU", "MEMORY", "GPU"), value={"pattern": "^[0-9]+$"})
    ),
    ulimits=array(
        obj(
            "name", "softLimit", "hardLimit",
            name=TEXT, softLimit={"type": "integer"}, hardLimit={"type": "integer"},
        )
    ),
    linuxParameters=obj(sharedMemorySize=COUNT),
)  # fmt: skip
_EXIT_PATTERN: Schema = {"type": "string", "pattern": r"^[0-9]*\*?$"}
BATCH = obj(
    "jobDefinitionName", "type", "nodeProperties",
    jobDefinitionName=TEXT,
    type={"const": "multinode"},
    timeout=obj(attemptDurationSeconds={"type": "integer", "minimum": 60}),
    retryStrategy=obj(
        attempts={"type": "integer", "minimum": 1, "maximum": 10},
        evaluateOnExit={
            **array(
                obj(
                    "action",
                    onStatusReason=TEXT,
                    onReason=TEXT,
                    onExitCode=_EXIT_PATTERN,
                    action=one_of("RETRY", "EXIT"),
                )
            ),
            "maxItems": 5,
        },
    ),
    nodeProperties=obj(
        "numNodes", "mainNode", "nodeRangeProperties",
        numNodes=COUNT,
        mainNode=COUNT,
        nodeRangeProperties=array(
            obj("targetNodes", targetNodes={"pattern": "^[0-9]*:[0-9]*$"}, container=_BATCH_CONTAINER)
        ),
    ),
)  # fmt: skip
COMPOSE = obj(
    "services",
    services={
        "type": "object",
        "additionalProperties": obj(
            "image",
            image=TEXT,
            command=array(TEXT),
            environment=LABELS,
            shm_size=TEXT,
            stop_grace_period={"pattern": "^[0-9]+s$"},
            restart=one_of("no", "always", "on-failure", "unless-stopped"),
            attach=FLAG,
            deploy=obj(replicas=COUNT),
            healthcheck=obj(
                "test",
                test=array(TEXT),
                interval={"pattern": "^[0-9]+s$"},
                start_period={"pattern": "^[0-9]+s$"},
            ),
            depends_on={
                "type": "object",
                "additionalProperties": obj(
                    condition=one_of(
                        "service_started", "service_healthy", "service_completed_successfully"
                    )
                ),
            },
        ),
    },
)


def schema_of(document: Mapping[str, Any]) -> Schema:
    """Choose the schema of a document by what it says it is."""
    if "services" in document:
        return COMPOSE
    if "nodeProperties" in document:
        return BATCH
    return KINDS[document["apiVersion"], document["kind"]]


def problems(document: Mapping[str, Any]) -> list[str]:
    """Say what is wrong with a document; nothing: it is valid."""
    found = jsonschema.Draft202012Validator(schema_of(document)).iter_errors(document)
    return [f"{'/'.join(map(str, one.absolute_path))}: {one.message}" for one in found]
