#!/bin/sh
# What horovodrun 0.28.1 does of `-H HOSTS -np N COMMAND…`: checks ssh, then writes a line for a shell.
[ "$1 $3" = "-H -np" ] || { echo "no hosts, or no number of ranks: $*" >&2; exit 2; }
hosts=$2 np=$4
shift 4
for host in $(echo "$hosts" | tr , ' '); do
  ssh -o PasswordAuthentication=no -o StrictHostKeyChecking=no "${host%:*}" -o ConnectTimeout=10 true || exit 3
done
exec /bin/sh -c "mpirun --allow-run-as-root --tag-output -np $np -H $hosts -bind-to none -map-by slot \
 -mca pml ob1 -mca btl ^openib -x PATH $*"
