# Your program on one of our stacks: nothing else is needed.
#
#   docker build -f from.Dockerfile -t train --build-arg BASE=mpiboot/mpich:dev .
ARG BASE=mpiboot/openmpi4:dev
FROM ${BASE}

# COPY train.py /app/train.py

# Only for YAML that calls sshd and mpirun by their names: see docs/install.md.
RUN mpiboot install

ENTRYPOINT ["/usr/local/bin/mpiboot"]
