"""What a pod's resolv.conf and /etc/hosts tell: namespace, cluster domain, Service, known names."""

from __future__ import annotations

from mpiboot.model.record import dataclass

RESOLV_CONF, HOSTS = "/etc/resolv.conf", "/etc/hosts"
_SVC = "svc"


@dataclass(frozen=True, kw_only=True)
class Zone:
    """Where a pod's resolver looks for names.

    Attributes:
        namespace: the pod's.
        domain: the cluster's, `cluster.local` as a rule.
        search: the whole list, in order.
    """

    namespace: str
    domain: str
    search: tuple[str, ...]

    @property
    def suffix(self) -> str:
        """What the names of the namespace's Services end with."""
        return f"{self.namespace}.{_SVC}.{self.domain}"


def read(resolv_conf: str) -> Zone | None:
    """Read the search list of a pod; None where it is not that of Kubernetes.

    Kubernetes writes `NAMESPACE.svc.DOMAIN svc.DOMAIN DOMAIN`, and more behind it. Elsewhere the
    resolver's own order is as good as any, and stays.
    """
    search = _search(resolv_conf)
    for entry in search:
        namespace, _, rest = entry.partition(".")
        label, _, domain = rest.partition(".")
        if label == _SVC and namespace and domain and f"{_SVC}.{domain}" in search:
            return Zone(namespace=namespace, domain=domain, search=search)
    return None


def _search(resolv_conf: str) -> tuple[str, ...]:
    """Return the last search list, as resolv.conf(5) says; no empty entries, no full stops."""
    found: tuple[str, ...] = ()
    for line in resolv_conf.splitlines():
        words = line.split()
        if words and words[0] in ("search", "domain"):
            found = tuple(name for word in words[1:] if (name := word.strip(".").lower()))
    return found


def told(hosts_file: str) -> frozenset[str]:
    """Return the names that /etc/hosts knows, in small letters."""
    words = (line.split("#", 1)[0].split()[1:] for line in hosts_file.splitlines())
    return frozenset(name.lower() for names in words for name in names)


def own_service(hostname: str, hosts_file: str, resolv_conf: str) -> str:
    """Tell the headless Service that publishes this pod's name; empty: nothing tells.

    The kubelet writes the full name of a pod that has a subdomain into its /etc/hosts. It does not
    for a pod on its node's network; there a search list may hold the Service.

    Args:
        hostname: the pod's.
        hosts_file: the text of /etc/hosts.
        resolv_conf: the text of /etc/resolv.conf.
    """
    for name in sorted(told(hosts_file)):
        label, _, rest = name.partition(".")
        service, _, inside = rest.partition(".")
        if label == hostname.lower() and service and f".{_SVC}." in f".{inside}.":
            return service
    zone = read(resolv_conf)
    if zone is not None:
        for entry in zone.search:
            service, _, rest = entry.partition(".")
            if rest == zone.suffix:
                return service
    return ""
