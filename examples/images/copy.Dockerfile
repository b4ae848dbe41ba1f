# The agent in a Debian image of yours. Its virtual environment needs the python3 that it was made with:
# take the agent of a stack with the same Debian (openmpi4: 12, openmpi5: 13).
#
#   docker build -f copy.Dockerfile -t train .
#   docker build -f copy.Dockerfile -t train --build-arg AGENT=mpiboot/openmpi5:dev --build-arg BASE=debian:trixie-slim .
ARG AGENT=mpiboot/openmpi4:dev
ARG BASE=debian:bookworm-slim

FROM ${AGENT} AS agent

FROM ${BASE}
# Host keys that a package makes would be the same in every container; the agent derives the job's own.
RUN export DEBIAN_FRONTEND=noninteractive \
 && apt-get update -qq \
 && apt-get install -y -qq --no-install-recommends \
      openmpi-bin openssh-client openssh-server python3 \
 && rm -rf /etc/ssh/ssh_host_* /var/lib/apt/lists/* /var/cache/apt/* /var/log/*
COPY --from=agent /opt/mpiboot /opt/mpiboot
COPY --from=agent /usr/local/bin/mpiboot /usr/local/bin/mpiboot
# Also proves that the agent finds its Python: with another one it fails here, not in the job.
RUN mpiboot install
ENTRYPOINT ["/usr/local/bin/mpiboot"]
