# The agent by pip, on Debian 12 and 13, Ubuntu 22.04 and 24.04. The context holds the wheel:
#
#   pip wheel --no-deps --wheel-dir dist .
#   docker build -f examples/images/pip.Dockerfile -t train --build-arg BASE=ubuntu:24.04 dist
#
# Without a network for pip: all wheels in the context (docs/images.md), and --build-arg PIP_NO_INDEX=1
ARG BASE=debian:bookworm-slim

FROM ${BASE} AS system
RUN export DEBIAN_FRONTEND=noninteractive \
 && apt-get update -qq \
 && apt-get install -y -qq --no-install-recommends \
      openmpi-bin openssh-client openssh-server python3 \
 && rm -rf /etc/ssh/ssh_host_* /var/lib/apt/lists/* /var/cache/apt/* /var/log/*

# A virtual environment: distributions guard their own packages, and the job may have others.
FROM ${BASE} AS venv
RUN export DEBIAN_FRONTEND=noninteractive \
 && apt-get update -qq \
 && apt-get install -y -qq --no-install-recommends ca-certificates python3-venv
COPY *.whl /wheels/
ARG PIP_NO_INDEX
# By its file: an index may have something else under that name.
RUN python3 -m venv /opt/mpiboot \
 && /opt/mpiboot/bin/pip install -q --no-cache-dir --find-links /wheels /wheels/mpiboot-*.whl \
 && /opt/mpiboot/bin/pip uninstall -q -y setuptools pip

FROM system
COPY --from=venv /opt/mpiboot /opt/mpiboot
# Lays /usr/local/bin/mpiboot, which starts the agent with the care that PID 1 needs, and the shims.
RUN /opt/mpiboot/bin/python -I -m mpiboot install
ENTRYPOINT ["/usr/local/bin/mpiboot"]
