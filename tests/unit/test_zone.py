"""A pod's own files tell its namespace, its cluster's domain and its Service."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mpiboot.model import zone

POD = "search ns.svc.cluster.local svc.cluster.local cluster.local\nnameserver 10.96.0.10\noptions ndots:5\n"
# What an operator's worker has: the job's own Service behind the usual three.
WORKER = "nameserver 10.96.0.10\nsearch ns.svc.cluster.local svc.cluster.local cluster.local job.ns.svc.cluster.local\n"
OWN_DOMAIN = "search team.svc.k8s.example.com svc.k8s.example.com k8s.example.com example.com\n"
COMPOSE = "nameserver 127.0.0.11\noptions ndots:0\n"
LAPTOP = "search svc.example.com example.com\nnameserver 192.0.2.1\n"
# As the kubelet writes it for a pod with a subdomain.
HOSTS = """\
# Kubernetes-managed hosts file.
127.0.0.1\tlocalhost
::1\tlocalhost ip6-localhost ip6-loopback
10.244.1.7\tworker-3.workers.ns.svc.cluster.local\tworker-3
"""


@pytest.mark.parametrize(
    ("text", "namespace", "domain"),
    [
        (POD, "ns", "cluster.local"),
        (WORKER, "ns", "cluster.local"),
        (OWN_DOMAIN, "team", "k8s.example.com"),
        ("search NS.svc.Cluster.Local. svc.cluster.local.\n", "ns", "cluster.local"),
    ],
)
def test_a_pods_search_list_tells_namespace_and_domain(
    text: str, namespace: str, domain: str
) -> None:
    """The list that the kubelet writes, with another cluster domain and further entries too."""
    found = zone.read(text)
    assert found is not None
    assert (found.namespace, found.domain) == (namespace, domain)


@pytest.mark.parametrize("text", ["", COMPOSE, LAPTOP, "search ns.svc.cluster.local\n"])
def test_other_places_have_no_zone(text: str) -> None:
    """Where the search list is not that of Kubernetes, nothing is derived from it."""
    assert zone.read(text) is None


def test_what_the_hosts_file_tells() -> None:
    """Names and aliases count, comments and addresses do not."""
    text = "127.0.0.1 localhost\n10.0.0.1\tw-0.job.ns W-0 # late\n# 10.0.0.2 w-1\n\n"
    assert zone.told(text) == {"localhost", "w-0.job.ns", "w-0"}


def test_the_service_of_this_pod() -> None:
    """Its full name in /etc/hosts tells it; else a search list that holds it; else nothing does."""
    assert zone.own_service("worker-3", HOSTS, POD) == "workers"
    assert zone.own_service("worker-4", HOSTS, POD) == ""
    assert zone.own_service("worker-4", HOSTS, WORKER) == "job"
    assert zone.own_service("worker-3", "", COMPOSE) == ""


@given(hosts=st.text(), resolv=st.text(), hostname=st.text())
def test_any_file_is_read(hosts: str, resolv: str, hostname: str) -> None:
    """Whatever stands there, reading it ends with an answer."""
    zone.read(resolv)
    assert isinstance(zone.own_service(hostname, hosts, resolv), str)
