#!/bin/bash
# The command `hbase` of the image, of which it has `hbase shell`: a client of this container's HBase, or of its cluster.
set -u

if [ "${1:-}" != shell ]; then
  echo "hbase shell [-n] [FILE] is there, and no other command: HBase itself is started with the container" >&2
  exit 2
fi
shift

# Where a real HBase has its JRuby too. It stands in front, because both have classes of Joni, of different versions.
export HBASE_CLASSPATH_PREFIX="/opt/hbase/lib/ruby/*"
# It also inherits the level of the server's log.
export HBASE_LOG_LEVEL=error
# -X+O is JRuby's own option, as HBase gives it; without the second compiler the shell starts in half the time.
exec bash /opt/hbase/java.sh -Xmx256m -XX:+UseSerialGC -XX:TieredStopAtLevel=1 \
  org.jruby.Main -X+O uri:classloader:/jar-bootstrap.rb "$@"
