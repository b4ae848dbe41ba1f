# EFA on AWS: Amazon's installer brings libfabric and an Open MPI in /opt/amazon; the agent by pip.
#
#   docker build -f examples/images/efa.Dockerfile -t train dist
#
# Without EFA, with the distribution's Open MPI:
#
#   docker build -f examples/images/efa.Dockerfile -t train --build-arg BASE=debian:bookworm-slim --build-arg EFA= dist
ARG BASE=ubuntu:22.04

FROM ${BASE} AS system
# Version of the installer (name one, so that a build can be repeated); empty: without. No kernel module: that is the host's.
ARG EFA=latest
RUN export DEBIAN_FRONTEND=noninteractive \
 && apt-get update -qq \
 && apt-get install -y -qq --no-install-recommends openssh-client openssh-server python3 \
 && if [ "$EFA" ]; then \
      apt-get install -y -qq --no-install-recommends ca-certificates curl \
      && mkdir /tmp/efa \
      && curl -fsSL "https://efa-installer.amazonaws.com/aws-efa-installer-$EFA.tar.gz" | tar xz -C /tmp/efa \
      && (cd /tmp/efa/aws-efa-installer && ./efa_installer.sh -y -g --skip-kmod --skip-limit-conf --no-verify) \
      && rm -rf /tmp/efa; \
    else \
      apt-get install -y -qq --no-install-recommends openmpi-bin; \
    fi \
 && rm -rf /etc/ssh/ssh_host_* /var/lib/apt/lists/* /var/cache/apt/* /var/log/*
# SSH sessions get this PATH from the worker's container, so that mpirun's daemon is found there. Shims
# have to come before Amazon's Open MPI.
ENV PATH=/opt/mpiboot/shims:/opt/amazon/openmpi/bin:/opt/amazon/efa/bin:$PATH
ENV LD_LIBRARY_PATH=/opt/amazon/openmpi/lib:/opt/amazon/openmpi/lib64:/opt/amazon/efa/lib:/opt/amazon/efa/lib64

FROM ${BASE} AS venv
RUN export DEBIAN_FRONTEND=noninteractive \
 && apt-get update -qq \
 && apt-get install -y -qq --no-install-recommends ca-certificates python3-venv
COPY *.whl /wheels/
ARG PIP_NO_INDEX
RUN python3 -m venv /opt/mpiboot \
 && /opt/mpiboot/bin/pip install -q --no-cache-dir --find-links /wheels /wheels/mpiboot-*.whl \
 && /opt/mpiboot/bin/pip uninstall -q -y setuptools pip

FROM system
COPY --from=venv /opt/mpiboot /opt/mpiboot
RUN /opt/mpiboot/bin/python -I -m mpiboot install --dir /opt/mpiboot/shims
# The job's pods need the device (vpc.amazonaws.com/efa, or /dev/infiniband on AWS Batch), unlimited
# memlock, and a security group that lets its members talk to one another.
ENTRYPOINT ["/usr/local/bin/mpiboot"]
