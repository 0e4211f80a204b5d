# Process 1 of the container: runs HBase and its two Thrift gateways, and stops all of them when it is told to stop
# or when one of them ends.
set -u

if [ "$(id -u)" = 0 ]; then
  chown hbase:hbase /data
  chmod a+rx /  # a base image imported from a directory can keep everyone but root out of it
  exec setpriv --reuid=hbase --regid=hbase --clear-groups bash "$0"
fi

# The paths into the JDK are what Hadoop and HBase still use by reflection on Java 17.
java_options=(
  -cp "/opt/hbase:/opt/hbase/lib/*"
  -Dlog4j2.configurationFile=/opt/hbase/log4j2.properties
  -Djava.net.preferIPv4Stack=true
  -XX:+ExitOnOutOfMemoryError
  --add-opens java.base/java.lang=ALL-UNNAMED
  --add-opens java.base/java.nio=ALL-UNNAMED
  --add-opens java.base/sun.nio.ch=ALL-UNNAMED
  --add-opens java.base/java.io=ALL-UNNAMED
  --add-opens java.base/java.util=ALL-UNNAMED
  --add-opens java.base/java.net=ALL-UNNAMED
  --add-opens java.base/jdk.internal.ref=ALL-UNNAMED
  --add-exports java.base/jdk.internal.misc=ALL-UNNAMED
)
gateway_options=("${java_options[@]}" "-Xmx$THRIFT_HEAP" -XX:+UseSerialGC)

# Process 1 has no default signal handlers. Ending the gateways ends the `wait -n` below.
stopping=
trap 'stopping=yes; kill ${thrift1:-} ${thrift2:-} 2>/dev/null' TERM INT

java "${java_options[@]}" "-Xmx$HBASE_HEAP" org.apache.hadoop.hbase.master.HMaster start &
hbase=$!
java "${gateway_options[@]}" org.apache.hadoop.hbase.thrift.ThriftServer start -p 9090 &
thrift1=$!
java "${gateway_options[@]}" org.apache.hadoop.hbase.thrift2.ThriftServer start -p 9091 &
thrift2=$!
{
  until bash /opt/hbase/health.sh 2>/dev/null; do sleep 0.5; done
  echo "HBase is ready: Thrift1 on port 9090, Thrift2 on port 9091." >&2
} &

[ -n "$stopping" ] || wait -n "$hbase" "$thrift1" "$thrift2"
[ -n "$stopping" ] || echo "HBase or one of its gateways ended by itself; stopping the rest." >&2

# The gateways first, so that no call meets a region server that is going away; HBase then writes its memory to files.
kill "$thrift1" "$thrift2" 2>/dev/null
wait "$thrift1" "$thrift2"
kill "$hbase" 2>/dev/null
wait "$hbase"
[ -n "$stopping" ]
