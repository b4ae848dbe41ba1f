# GPUs and NCCL: CUDA's run-time, Open MPI from the distribution, the agent by pip (see pip.Dockerfile).
#
#   docker build -f examples/images/gpu.Dockerfile -t train dist
#
# The part that needs no GPU, on a machine that cannot pull CUDA's image:
#
#   docker build -f examples/images/gpu.Dockerfile -t train --build-arg BASE=debian:bookworm-slim --build-arg NCCL= dist
ARG BASE=nvidia/cuda:12.6.3-runtime-ubuntu24.04

FROM ${BASE} AS system
# NCCL of CUDA's own repository, which the base brings; empty: without. rdma-core: InfiniBand, RoCE.
ARG NCCL=libnccl2
RUN export DEBIAN_FRONTEND=noninteractive \
 && apt-get update -qq \
 && apt-get install -y -qq --no-install-recommends --allow-change-held-packages \
      ibverbs-providers libibverbs1 openmpi-bin openssh-client openssh-server python3 ${NCCL} \
 && rm -rf /etc/ssh/ssh_host_* /var/lib/apt/lists/* /var/cache/apt/* /var/log/*

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
# NCCL writes its network and its rings into the log at WARN only when something is wrong. Set here,
# it is the same on launcher and workers; a job may say NCCL_DEBUG=INFO.
ENV NCCL_DEBUG=WARN
RUN /opt/mpiboot/bin/python -I -m mpiboot install
# Slots come from the GPUs that a worker sees: no number has to be told.
ENTRYPOINT ["/usr/local/bin/mpiboot"]
