# Becomes a Java process with HBase's jars and the settings of the container's role: `bash /opt/hbase/java.sh CLASS …`.
set -u

settings=/opt/hbase
[ "${HBASE_ROLE:-all}" = all ] || [ "$HBASE_ROLE" = native ] || settings=/opt/hbase/cluster:/opt/hbase

# The paths into the JDK are what Hadoop and HBase still use by reflection on Java 17.
exec java \
  -cp "$settings:${HBASE_CLASSPATH_PREFIX:+$HBASE_CLASSPATH_PREFIX:}/opt/hbase/lib/*" \
  -Dlog4j2.configurationFile=/opt/hbase/log4j2.properties \
  -Djava.net.preferIPv4Stack=true \
  -XX:+ExitOnOutOfMemoryError \
  --add-opens java.base/java.lang=ALL-UNNAMED \
  --add-opens java.base/java.nio=ALL-UNNAMED \
  --add-opens java.base/sun.nio.ch=ALL-UNNAMED \
  --add-opens java.base/java.io=ALL-UNNAMED \
  --add-opens java.base/java.util=ALL-UNNAMED \
  --add-opens java.base/java.net=ALL-UNNAMED \
  --add-opens java.base/jdk.internal.ref=ALL-UNNAMED \
  --add-exports java.base/jdk.internal.misc=ALL-UNNAMED \
  ${HBASE_JAVA_OPTIONS-} \
  "$@"
