import java.io.RandomAccessFile;
import java.nio.MappedByteBuffer;
import java.nio.channels.FileChannel.MapMode;
import java.nio.file.Files;
import java.nio.file.Path;

/**
 * What a mutated method calls, and how often that was: two numbers in a file of this process's own, below the folder of the jars.
 * The first counts how often the place was reached, the second how often what Kafka does there was not what is done instead.
 * The file is mapped, so that the numbers survive a process that is killed.
 */
public final class Mutated {
    private static final MappedByteBuffer COUNTS = counts();

    private Mutated() {
    }

    private static MappedByteBuffer counts() {
        try {
            Path jar = Path.of(Mutated.class.getProtectionDomain().getCodeSource().getLocation().toURI());
            Path folder = Files.createDirectories(jar.getParent().resolveSibling("counts"));
            try (RandomAccessFile file = new RandomAccessFile(folder.resolve("" + ProcessHandle.current().pid()).toFile(), "rw")) {
                return file.getChannel().map(MapMode.READ_WRITE, 0, 2 * Long.BYTES);
            }
        } catch (Exception error) {
            throw new ExceptionInInitializerError(error);
        }
    }

    private static void count(int place) {
        COUNTS.putLong(place, COUNTS.getLong(place) + 1);
    }

    private static synchronized boolean isTurn(int every, String thread) {
        if (!Thread.currentThread().getName().startsWith(thread)) {
            return false;
        }
        count(0);
        return COUNTS.getLong(0) % every == 0;
    }

    private static synchronized void differs() {
        count(Long.BYTES);
    }

    /** Whether a call is left out this time. */
    public static boolean skips(int every, String thread) {
        if (!isTurn(every, thread)) {
            return false;
        }
        differs();
        return true;
    }

    public static int instead(int found, int value, int every, String thread) {
        if (!isTurn(every, thread)) {
            return found;
        }
        if (found != value) {
            differs();
        }
        return value;
    }

    public static int plus(int found, int more, int every, String thread) {
        return skips(every, thread) ? found + more : found;
    }

    public static long plus(long found, int more, int every, String thread) {
        return skips(every, thread) ? found + more : found;
    }

    /** Whether a jump that compares an int with 0 is taken. */
    public static int jumps(int found, String comparison, String instead, int every, String thread) {
        return jumps(found, 0, comparison, instead, every, thread);
    }

    /** Whether a jump that compares two ints is taken. */
    public static int jumps(int left, int right, String comparison, String instead, int every, String thread) {
        int order = Integer.compare(left, right);
        return instead(holds(order, comparison) ? 1 : 0, holds(order, instead) ? 1 : 0, every, thread);
    }

    private static boolean holds(int order, String comparison) {
        switch (comparison) {
            case "==":
                return order == 0;
            case "!=":
                return order != 0;
            case "<":
                return order < 0;
            case ">=":
                return order >= 0;
            case ">":
                return order > 0;
            case "<=":
                return order <= 0;
            case "always":
                return true;
            case "never":
                return false;
            default:
                throw new IllegalArgumentException(comparison);
        }
    }
}
