# ruff: noqa: INP001, T201 - a program, not a package; it prints
"""Fit a line in four dimensions with Horovod and MXNet; end with 0 only if all ranks found it together.

Each rank has data and first weights of its own. Training succeeds only where the ranks talk: the
first weights come from rank 0, gradients are averaged, and at the end everybody's weights must be
the same. Seeds are fixed, so the losses are the same in every run with as many ranks.
"""

import socket
import sys

import horovod.mxnet as hvd
import mxnet as mx
import numpy as np
from mxnet import autograd, gluon

WEIGHTS = np.array([[2.0], [-3.4], [0.7], [5.0]], dtype="float32")
BIAS = 4.2
NOISE = 0.01
SAMPLES = 2048
BATCH = 64
EPOCHS = 5
GOOD_LOSS = 0.01


def shard(rank: int) -> tuple[mx.nd.NDArray, mx.nd.NDArray]:
    """Draw a rank's own samples, and what the line says of them."""
    random = np.random.RandomState(1234 + rank)
    x = random.randn(SAMPLES, len(WEIGHTS)).astype("float32")
    y = x @ WEIGHTS + BIAS + NOISE * random.randn(SAMPLES, 1).astype("float32")
    return mx.nd.array(x), mx.nd.array(y)


def epoch(net: gluon.Block, trainer: gluon.Trainer, x: mx.nd.NDArray, y: mx.nd.NDArray) -> float:
    """Go through the data once; return this rank's mean loss."""
    squares = gluon.loss.L2Loss()
    losses = []
    for start in range(0, SAMPLES, BATCH):
        batch = slice(start, start + BATCH)
        with autograd.record():
            loss = squares(net(x[batch]), y[batch])
        loss.backward()
        trainer.step(BATCH)
        losses.append(float(loss.mean().asscalar()))
    return sum(losses) / len(losses)


hvd.init()
rank, size = hvd.rank(), hvd.size()
print(
    f"rank {rank}/{size} local {hvd.local_rank()}/{hvd.local_size()} host {socket.gethostname()} "
    f"mpi_built={hvd.mpi_built()} mpi_enabled={hvd.mpi_enabled()}",
    flush=True,
)

mx.random.seed(rank)
net = gluon.nn.Dense(1, in_units=len(WEIGHTS))
net.initialize(mx.init.Normal(0.5))
params = net.collect_params()
hvd.broadcast_parameters(params, root_rank=0)
trainer = hvd.DistributedTrainer(params, "sgd", {"learning_rate": 0.05})

x, y = shard(rank)
losses = []
for number in range(EPOCHS):
    mine = mx.nd.array([epoch(net, trainer, x, y)])
    losses.append(hvd.allreduce(mine, average=True, name=f"loss{number}").asscalar())
    if rank == 0:
        print(f"epoch {number} loss {losses[-1]:.6f}", flush=True)

weights = np.append(net.weight.data().asnumpy(), net.bias.data().asnumpy())
everybodys = hvd.allgather(mx.nd.array(weights.reshape(1, -1)), name="weights").asnumpy()
same = len(everybodys) == size and bool(np.allclose(everybodys, everybodys[0]))
if rank == 0:
    print(f"weights {weights.round(3).tolist()} same_on_all_ranks {same}", flush=True)
hvd.shutdown()
sys.exit(0 if same and losses[-1] < GOOD_LOSS else 1)
