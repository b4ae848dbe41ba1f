"""Where metrics are pushed to, and what is never shown."""

from __future__ import annotations

import base64
import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mpiboot.errors import ConfigError
from mpiboot.model.redacted import url as redacted
from mpiboot.model.settings import Settings
from mpiboot.report.push import job_name, target
from mpiboot.roles.reporting import shown_settings


def of(url: str, *, job: str = "train", instance: str = "train-launcher") -> str:
    return target(url, job=job, instance=instance, role="launcher").url


def test_the_group_stands_in_the_path() -> None:
    """Job, instance and role are the grouping key; a path before them is kept."""
    group = "/metrics/job/train/instance/train-launcher/role/launcher"
    assert of("http://gateway:9091") == f"http://gateway:9091{group}"
    assert of("https://gateway/") == f"https://gateway{group}"
    assert of("http://gateway/push/er/") == f"http://gateway/push/er{group}"
    assert of("http://[fd00::1]:9091") == f"http://[fd00::1]:9091{group}"


def test_values_that_a_path_cannot_hold() -> None:
    """A slash, nothing at all, spaces: as the Pushgateway wants them."""
    assert "/job@base64/YS9i/" in of("http://g", job="a/b")
    assert "/job@base64/=/" in of("http://g", job="")
    assert "/job/a%20b/" in of("http://g", job="a b")


@pytest.mark.parametrize(
    "url",
    [
        "gateway:9091", "ftp://gateway", "http://", "http://:9091", "http://g:99999", "http://g:x",
        "http://g:0", "http://g?x=1", "http://g#x", "http://g y", "http://g\n", "file:///etc/passwd",
    ],
)  # fmt: skip
def test_what_is_no_url_of_a_gateway(url: str) -> None:
    """One clear line with 78, at the start."""
    with pytest.raises(ConfigError, match="is no URL of a Pushgateway") as caught:
        of(url)
    assert caught.value.code == 78
    assert "\n" not in str(caught.value)
    assert "--pushgateway" in str(caught.value)


def test_credentials_are_used_and_not_shown() -> None:
    """User and password go into a header; neither the target nor a fault shows them."""
    made = target("http://me:p%40ss@gateway", job="j", instance="i", role="worker")
    assert base64.b64decode(made.credentials) == b"me:p@ss"
    assert "ss" not in made.url.replace("/instance", "")
    assert made.credentials not in repr(made)
    with pytest.raises(ConfigError) as caught:
        of("ftp://me:geheim@gateway")
    assert "geheim" not in str(caught.value)
    assert "ftp://***@gateway" in str(caught.value)


@given(st.text(st.characters(categories=["L", "N"]), min_size=5), st.sampled_from(["http://", ""]))
def test_no_secret_of_a_url_is_shown(secret: str, scheme: str) -> None:
    """Whatever stands before the @ is hidden."""
    assert secret not in redacted(f"{scheme}u:{secret}@host").replace("host", "")


@pytest.mark.parametrize(
    ("hostname", "name"),
    [
        ("train-launcher", "train"),
        ("train-launcher-x7k2p", "train"),
        ("train-worker-12", "train"),
        ("train-master-0", "train"),
        ("train-worker-0.train-worker.ns.svc", "train"),
        ("3f2a9c01d2e4", "3f2a9c01d2e4"),
        ("launcher", "launcher"),
        ("node-7", "node"),
        ("", "mpiboot"),
    ],
)
def test_job_names(hostname: str, name: str) -> None:
    """The pods of a job share its name; --push-job wins."""
    assert job_name("", hostname) == name
    assert job_name("mine", hostname) == "mine"


def test_the_record_shows_no_secret() -> None:
    """Secrets, credentials in a URL and values of -x stay out; their names and origins do not."""
    settings = Settings(
        secret="very-secret", pushgateway="http://u:pass-word@g", export=("A=token-of-mine", "B")
    )
    shown = shown_settings(settings, {"secret": "flag --secret"})
    text = json.dumps(shown)
    for secret in ("very-secret", "pass-word", "token-of-mine"):
        assert secret not in text
    assert shown["secret"] == {"value": "***", "origin": "flag --secret"}
    assert shown["pushgateway"] == {"value": "http://***@g", "origin": "default"}
    assert shown["export"]["value"] == "A=*** B"
    assert shown["np"] == {"value": "0", "origin": "default"}
