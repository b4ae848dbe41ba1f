"""The account that OpenSSH sees here: found, added to /etc/passwd, or made up by nss_wrapper."""

from __future__ import annotations

import os
from collections.abc import Mapping, MutableMapping
from pathlib import Path

from mpiboot.log import logger
from mpiboot.model.accounts import variables
from mpiboot.model.checkup import Trial
from mpiboot.plan import accounts
from mpiboot.plan.accounts import Account
from mpiboot.runtime import account, files


def foresee(env: Mapping[str, str], *, serving: bool) -> Account:
    """Say which account OpenSSH will see here; nothing is changed.

    Args:
        env: the environment in which OpenSSH will run.
        serving: whether somebody will log in here.

    Raises:
        ConfigError: there is none.
        LaunchFailedError: nobody could log in to it.
    """
    return accounts.decide(account.look(env), serving=serving)


def of_client(path: str, env: Mapping[str, str]) -> Trial | None:
    """Say what ssh is worth to a uid without an account; None: it has one."""
    return accounts.of_client(path, account.look(env))


def settle(env: MutableMapping[str, str], directory: Path, *, serving: bool) -> str:
    """Have an account, whatever it takes; programs with this environment see it.

    Args:
        env: the job's environment, which gains what nss_wrapper needs.
        directory: for nss_wrapper's files.
        serving: whether somebody will log in here.

    Returns:
        its name.

    Raises:
        ConfigError: as `foresee`.
        LaunchFailedError: as `foresee`.
    """
    found = foresee(env, serving=serving)
    if found.told:
        logger.info("uid %s is %s", os.getuid(), found.told)
    if found.added:
        account.add(found.added)
    elif found.library:
        passwd, group = directory / "passwd", directory / "group"
        files.write(passwd, found.passwd)
        files.write(group, found.group)
        env.update(variables(env, found.library, str(passwd), str(group)))
    return found.entry.name


def name(env: Mapping[str, str]) -> str:
    """Return the name by which this process logs in elsewhere.

    Raises:
        ConfigError: the uid has no account.
    """
    return foresee(env, serving=False).entry.name
