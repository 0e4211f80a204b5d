import java.util.List;
import java.util.concurrent.TimeUnit;
import org.apache.hadoop.hbase.HBaseConfiguration;
import org.apache.hadoop.hbase.HRegionLocation;
import org.apache.hadoop.hbase.RegionMetrics;
import org.apache.hadoop.hbase.ServerName;
import org.apache.hadoop.hbase.TableName;
import org.apache.hadoop.hbase.client.Admin;
import org.apache.hadoop.hbase.client.Connection;
import org.apache.hadoop.hbase.client.ConnectionFactory;
import org.apache.hadoop.hbase.client.RegionInfo;
import org.apache.hadoop.hbase.util.Bytes;

/**
 * What Thrift has no call for, for tests: `bash /opt/hbase/java.sh Regions COMMAND TABLE [KEY]`.
 *
 * list TABLE, writes TABLE, flush TABLE, disable TABLE, enable TABLE; split TABLE KEY (the region of KEY, before KEY), move TABLE KEY
 * (to another server), merge TABLE KEY (with the next region). A KEY is written as HBase's shell shows it, as in a\x00b;
 * each command returns when the work is done.
 */
public final class Regions {
  private static final int SECONDS = 120;

  public static void main(String[] arguments) throws Exception {
    TableName table = TableName.valueOf(arguments[1]);
    byte[] key = Bytes.toBytesBinary(arguments.length > 2 ? arguments[2] : "");
    try (Connection connection = ConnectionFactory.createConnection(HBaseConfiguration.create());
        Admin admin = connection.getAdmin()) {
      switch (arguments[0]) {
        case "list" -> list(connection, table);
        case "writes" -> writes(connection, admin, table);
        case "flush" -> admin.flush(table);
        case "disable" -> admin.disableTable(table);
        case "enable" -> admin.enableTable(table);
        case "split" -> {
          RegionInfo region = location(connection, table, key).getRegion();
          admin.splitRegionAsync(region.getRegionName(), key).get(SECONDS, TimeUnit.SECONDS);
        }
        case "move" -> move(admin, location(connection, table, key));
        case "merge" -> {
          RegionInfo region = location(connection, table, key).getRegion();
          RegionInfo next = location(connection, table, region.getEndKey()).getRegion();
          byte[][] names = {region.getEncodedNameAsBytes(), next.getEncodedNameAsBytes()};
          admin.mergeRegionsAsync(names, false).get(SECONDS, TimeUnit.SECONDS);
        }
        default -> throw new IllegalArgumentException("no command " + arguments[0]);
      }
    }
  }

  private static HRegionLocation location(Connection connection, TableName table, byte[] key) throws Exception {
    return connection.getRegionLocator(table).getRegionLocation(key, true);
  }

  /** Prints a line for each region: its first key, a tab, its server. */
  private static void list(Connection connection, TableName table) throws Exception {
    for (HRegionLocation each : connection.getRegionLocator(table).getAllRegionLocations()) {
      System.out.println(Bytes.toStringBinary(each.getRegion().getStartKey()) + "\t" + each.getServerName());
    }
  }

  /** Prints a line for each region: its first key, a tab, how many rows were written to it since it was opened. */
  private static void writes(Connection connection, Admin admin, TableName table) throws Exception {
    for (ServerName server : admin.getRegionServers()) {
      for (RegionMetrics each : admin.getRegionMetrics(server, table)) {
        byte[] start = RegionInfo.getStartKey(each.getRegionName());
        System.out.println(Bytes.toStringBinary(start) + "\t" + each.getWriteRequestCount());
      }
    }
  }

  private static void move(Admin admin, HRegionLocation location) throws Exception {
    List<ServerName> others = admin.getRegionServers().stream().filter(one -> !one.equals(location.getServerName())).toList();
    if (others.isEmpty()) {
      throw new IllegalStateException("there is no other server than " + location.getServerName());
    }
    admin.move(location.getRegion().getEncodedNameAsBytes(), others.get(0));
  }
}
