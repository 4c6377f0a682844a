import java.io.InputStream;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Map;
import java.util.stream.Collectors;
import org.objectweb.asm.ClassReader;
import org.objectweb.asm.ClassWriter;
import org.objectweb.asm.Opcodes;
import org.objectweb.asm.tree.AbstractInsnNode;
import org.objectweb.asm.tree.ClassNode;
import org.objectweb.asm.tree.InvokeDynamicInsnNode;
import org.objectweb.asm.tree.MethodNode;
import org.objectweb.asm.tree.VarInsnNode;

/**
 * Kafka's own Partition with one word of it changed: makeLeader resets what it knows of a follower's log if
 * isNewLeaderEpoch, not if isNewLeader. Writes the class below the folder that is its argument.
 */
public final class Mend {
    private static final String CLASS = "kafka/cluster/Partition";

    private Mend() {
    }

    /** The variable is captured by the function that is called for each replica: its only boolean. */
    private static int mended(MethodNode method) {
        Map<String, Integer> variables = method.localVariables.stream()
            .filter(one -> one.name.startsWith("isNewLeader")).collect(Collectors.toMap(one -> one.name, one -> one.index));
        int count = 0;
        for (AbstractInsnNode made : method.instructions) {
            if (made instanceof InvokeDynamicInsnNode && ((InvokeDynamicInsnNode) made).desc.startsWith("(JJZ")) {
                AbstractInsnNode load = made;
                while (load.getOpcode() != Opcodes.ILOAD) {
                    load = load.getPrevious();
                }
                if (((VarInsnNode) load).var == variables.get("isNewLeader")) {
                    ((VarInsnNode) load).var = variables.get("isNewLeaderEpoch");
                    count++;
                }
            }
        }
        return count;
    }

    public static void main(String[] arguments) throws Exception {
        ClassNode partition = new ClassNode();
        ClassWriter writer;
        try (InputStream kafka = ClassLoader.getSystemResourceAsStream(CLASS + ".class")) {
            ClassReader reader = new ClassReader(kafka);
            reader.accept(partition, 0);
            writer = new ClassWriter(reader, 0);
        }
        int count = partition.methods.stream().filter(one -> one.name.contains("makeLeader")).mapToInt(Mend::mended).sum();
        if (count != 1) {
            throw new IllegalStateException("makeLeader resets log ends in " + count + " places; 1 is known");
        }
        partition.accept(writer);
        Path file = Path.of(arguments[0], CLASS + ".class");
        Files.createDirectories(file.getParent());
        Files.write(file, writer.toByteArray());
    }
}
