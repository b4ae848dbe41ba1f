#!/bin/sh
# An mpirun that takes its time before it says which one it is.
sleep 15
exec mpirun "$@"
