# The agent by pip, on Debian 12 and 13, Ubuntu 22.04 and 24.04. The context holds the wheel:
#
#   python3 -m build --wheel
#   docker build -f examples/images/pip.Dockerfile -t train --build-arg BASE=ubuntu:24.04 dist
#
# Without a network for pip: `pip download --dest dist dist/*.whl`, and --build-arg PIP_NO_INDEX=1
ARG BASE=debian:bookworm-slim

FROM ${BASE} AS system
RUN export DEBIAN_FRONTEND=noninteractive \
 && apt-get update -qq \
 && apt-get install -y -qq --no-install-recommends \
      openmpi-bin openssh-client openssh-server python3 \
 && rm -rf /etc/ssh/ssh_host_* /var/lib/apt/lists/* /var/cache/apt/* /var/log/*

# A virtual environment: distributions guard their own packages, and the job may have others.
FROM system AS venv
RUN export DEBIAN_FRONTEND=noninteractive \
 && apt-get update -qq \
 && apt-get install -y -qq --no-install-recommends ca-certificates python3-venv
COPY *.whl /wheels/
ARG PIP_NO_INDEX
RUN python3 -m venv /opt/mpiboot \
 && /opt/mpiboot/bin/pip install -q --no-cache-dir --find-links /wheels mpiboot \
 && /opt/mpiboot/bin/pip uninstall -q -y setuptools pip

FROM system
COPY --from=venv /opt/mpiboot /opt/mpiboot
# Lays /usr/local/bin/mpiboot, which starts the agent with the care that PID 1 needs, and the shims.
RUN /opt/mpiboot/bin/python -I -m mpiboot install
ENTRYPOINT ["/usr/local/bin/mpiboot"]
