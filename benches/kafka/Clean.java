import java.io.File;
import java.io.IOException;
import java.util.Map;
import java.util.Optional;
import org.apache.kafka.common.utils.Time;
import org.apache.kafka.server.util.KafkaScheduler;
import org.apache.kafka.storage.internals.log.*;
import org.apache.kafka.storage.internals.utils.Throttler;
import org.apache.kafka.storage.log.metrics.BrokerTopicStats;

/**
 * Kafka's own cleaner over one partition folder, without a broker: Clean FOLDER [open].
 *
 * The settings are a broker's defaults. With "open" the log is only opened, a new segment begun, and closed again: that
 * makes the indexes and the producer snapshot that a broker would find, so that a second run pays for the cleaning, and not
 * for these; and all that the log holds is in closed segments, which alone are cleaned.
 */
public class Clean {
    public static void main(String[] args) throws Exception {
        File folder = new File(args[0]);
        Time time = Time.SYSTEM;
        LogConfig config = new LogConfig(Map.of("cleanup.policy", "compact", "segment.bytes", "104857600"));
        KafkaScheduler scheduler = new KafkaScheduler(1);
        scheduler.startup();
        UnifiedLog log = UnifiedLog.create(folder, config, 0L, 0L, scheduler, new BrokerTopicStats(), time, 300_000,
            new ProducerStateManagerConfig(86_400_000, false), 600_000, new LogDirFailureChannel(1), true, Optional.empty());
        log.updateHighWatermark(log.logEndOffset());
        if (args.length == 1) {
            clean(log, time);
        } else {
            log.roll();
        }
        log.close();
        scheduler.shutdown();
    }

    private static void clean(UnifiedLog log, Time time) throws Exception {
        Cleaner cleaner = new Cleaner(0, new SkimpyOffsetMap(128 << 20), 512 << 10, Integer.MAX_VALUE, 0.9,
            new Throttler(Double.MAX_VALUE, 300, "cleaner", "bytes", time), time, partition -> { });
        // The segment that is written to is left alone, and empty.
        long until = log.activeSegment().baseOffset();
        cleaner.clean(new LogToClean(log, 0, until, false));
        System.out.println("cleaned up to " + until);
    }
}
