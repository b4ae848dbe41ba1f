# The agent by pip on Red Hat's kin (Rocky, Alma, UBI). The context holds the wheel, as for pip.Dockerfile.
#
#   docker build -f examples/images/dnf.Dockerfile -t train dist
ARG BASE=rockylinux:9

FROM ${BASE} AS system
# The system's own python3 is 3.9, and the agent needs 3.10.
RUN dnf install -y -q openmpi openssh-clients openssh-server python3.11 \
 && dnf clean all \
 && rm -f /etc/ssh/ssh_host_*
# Open MPI lies beside PATH there. Shims have to come before it.
ENV PATH=/opt/mpiboot/shims:/usr/lib64/openmpi/bin:$PATH

FROM system AS venv
COPY *.whl /wheels/
ARG PIP_NO_INDEX
RUN python3.11 -m venv /opt/mpiboot \
 && /opt/mpiboot/bin/pip install -q --no-cache-dir --find-links /wheels /wheels/mpiboot-*.whl \
 && /opt/mpiboot/bin/pip uninstall -q -y setuptools pip

FROM system
COPY --from=venv /opt/mpiboot /opt/mpiboot
RUN /opt/mpiboot/bin/python -I -m mpiboot install --dir /opt/mpiboot/shims
ENTRYPOINT ["/usr/local/bin/mpiboot"]
