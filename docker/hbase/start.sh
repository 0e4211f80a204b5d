# Process 1 of the container: runs what HBASE_ROLE names, and stops all of it when it is told to stop or when one of
# its processes ends. `all`, the default, is HBase in one process and its two Thrift gateways, `native` the same without gateways; the others make
# a cluster.
set -u
role=${HBASE_ROLE:-all}

if [ "$(id -u)" = 0 ]; then
  chown hbase:hbase /data
  chmod a+rx /  # a base image imported from a directory can keep everyone but root out of it
  exec setpriv --reuid=hbase --regid=hbase --clear-groups bash "$0"
fi

servers=() gateways=()
# server CLASS ARGUMENT…
server() {
  bash /opt/hbase/java.sh "-Xmx$HBASE_HEAP" "org.apache.hadoop.hbase.$@" &
  servers+=($!)
}
# gateway PACKAGE PORT
gateway() {
  bash /opt/hbase/java.sh "-Xmx$THRIFT_HEAP" -XX:+UseSerialGC "org.apache.hadoop.hbase.$1.ThriftServer" start -p "$2" &
  gateways+=($!)
}

# Process 1 has no default signal handlers. Ending a process ends the `wait -n` below.
stopping=
trap 'stopping=yes; kill "${gateways[@]:-${servers[@]}}" 2>/dev/null' TERM INT

case $role in
  # Several region servers in the one process cannot all have the usual port.
  all | native) server master.HMaster -D "hbase.localcluster.assign.random.ports=$([ "$HBASE_REGIONSERVERS" = 1 ] && echo false || echo true)" start "--localRegionServers=$HBASE_REGIONSERVERS" ;;
  zookeeper) server zookeeper.HQuorumPeer start ;;
  # By their own names, which stay; the name that belongs to an address in Docker's network has the project in it.
  master) server master.HMaster -D "hbase.master.hostname=$HOSTNAME" start ;;
  regionserver) server regionserver.HRegionServer -D "hbase.unsafe.regionserver.hostname=$HOSTNAME" start ;;
  gateway) ;;
  *) echo "HBASE_ROLE=$role must be all, native, zookeeper, master, regionserver or gateway" >&2; exit 2 ;;
esac
# Standalone HBase lets ZooKeeper listen at 127.0.0.1 alone, whatever is configured (MiniZooKeeperCluster.java).
if [ "$role" = all ] || [ "$role" = native ]; then
  socat "TCP-LISTEN:2181,bind=$(hostname -i),fork,reuseaddr" TCP:127.0.0.1:2181 2>/dev/null &
fi
case $role in
  all | gateway) gateway thrift 9090; gateway thrift2 9091 ;;
esac
{
  until bash /opt/hbase/health.sh 2>/dev/null; do sleep 0.5; done
  [ "$role" != all ] || echo "HBase is ready: Thrift1 on port 9090, Thrift2 on port 9091." >&2
} &

[ -n "$stopping" ] || wait -n "${servers[@]}" "${gateways[@]}"
[ -n "$stopping" ] || echo "HBase ($role) or one of its processes ended by itself; stopping the rest." >&2

# The gateways first, so that no call meets a region server that is going away; HBase then writes its memory to files.
for running in "${gateways[*]}" "${servers[*]}"; do
  [ -z "$running" ] || { kill $running 2>/dev/null; wait $running; }
done
[ -n "$stopping" ]
