import java.io.InputStream;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import org.objectweb.asm.ClassReader;
import org.objectweb.asm.ClassWriter;
import org.objectweb.asm.Opcodes;
import org.objectweb.asm.Type;
import org.objectweb.asm.tree.AbstractInsnNode;
import org.objectweb.asm.tree.ClassNode;
import org.objectweb.asm.tree.FieldInsnNode;
import org.objectweb.asm.tree.FrameNode;
import org.objectweb.asm.tree.InsnList;
import org.objectweb.asm.tree.InsnNode;
import org.objectweb.asm.tree.JumpInsnNode;
import org.objectweb.asm.tree.LabelNode;
import org.objectweb.asm.tree.LdcInsnNode;
import org.objectweb.asm.tree.MethodInsnNode;
import org.objectweb.asm.tree.MethodNode;
import org.objectweb.asm.tree.VarInsnNode;

/**
 * Kafka's own classes, of which each has one place changed: the arguments are a file and a folder. A line of the file is a
 * mutant, with tabs: name, class, method, call, which of how many such calls in the method, kind, value, every how many times, and
 * the beginning of a thread's name. A call is that of a method or the reading of a field, by its name.
 *
 * Kinds: returns (the call's number or truth is the value), plus (it is so much more), skips (the call is left out, 0 or null is
 * its value), jumps (the first conditional jump after it is taken always, never, or by another comparison).
 */
public final class Mutate {
    private static final String MUTATED = "Mutated";
    private static final Map<Integer, String> COMPARISONS = Map.ofEntries(
        Map.entry(Opcodes.IFEQ, "=="), Map.entry(Opcodes.IFNE, "!="), Map.entry(Opcodes.IFLT, "<"),
        Map.entry(Opcodes.IFGE, ">="), Map.entry(Opcodes.IFGT, ">"), Map.entry(Opcodes.IFLE, "<="),
        Map.entry(Opcodes.IF_ICMPEQ, "=="), Map.entry(Opcodes.IF_ICMPNE, "!="), Map.entry(Opcodes.IF_ICMPLT, "<"),
        Map.entry(Opcodes.IF_ICMPGE, ">="), Map.entry(Opcodes.IF_ICMPGT, ">"), Map.entry(Opcodes.IF_ICMPLE, "<="));

    private final String name;
    private final String owner;
    private final String method;
    private final String call;
    private final int which;
    private final int among;
    private final String kind;
    private final String value;
    private final int every;
    private final String thread;

    private Mutate(String line) {
        String[] fields = line.split("\t", -1);
        name = fields[0];
        owner = fields[1];
        method = fields[2];
        call = fields[3];
        which = Integer.parseInt(fields[4]);
        among = Integer.parseInt(fields[5]);
        kind = fields[6];
        value = fields[7];
        every = Integer.parseInt(fields[8]);
        thread = fields[9];
    }

    private IllegalStateException wrong(String what) {
        return new IllegalStateException(name + ": " + owner + "." + method + " " + what);
    }

    private boolean isCall(AbstractInsnNode one) {
        return one instanceof MethodInsnNode && ((MethodInsnNode) one).name.equals(call)
            || one.getOpcode() == Opcodes.GETFIELD && ((FieldInsnNode) one).name.equals(call);
    }

    private AbstractInsnNode place(MethodNode found) {
        List<AbstractInsnNode> calls = new ArrayList<>();
        for (AbstractInsnNode one : found.instructions) {
            if (isCall(one)) {
                calls.add(one);
            }
        }
        if (calls.size() != among) {
            throw wrong("has " + call + " in " + calls.size() + " places; " + among + " are known");
        }
        return calls.get(which - 1);
    }

    /** The end of a call's arguments: value, every, thread. */
    private InsnList calls(String helper, String descriptor, String comparison) {
        InsnList added = new InsnList();
        if (comparison != null) {
            added.add(new LdcInsnNode(comparison));
            added.add(new LdcInsnNode(value));
        } else {
            added.add(new LdcInsnNode(Integer.parseInt(value)));
        }
        added.add(new LdcInsnNode(every));
        added.add(new LdcInsnNode(thread));
        added.add(new MethodInsnNode(Opcodes.INVOKESTATIC, MUTATED, helper, descriptor, false));
        return added;
    }

    private static Type typeOf(AbstractInsnNode call) {
        return call instanceof MethodInsnNode
            ? Type.getReturnType(((MethodInsnNode) call).desc) : Type.getType(((FieldInsnNode) call).desc);
    }

    private void changesJump(MethodNode found, AbstractInsnNode call) {
        AbstractInsnNode one = call;
        while (!COMPARISONS.containsKey(one.getOpcode())) {
            one = one.getNext();
        }
        boolean isOfTwo = one.getOpcode() >= Opcodes.IF_ICMPEQ;
        String descriptor = (isOfTwo ? "(II" : "(I") + "Ljava/lang/String;Ljava/lang/String;ILjava/lang/String;)I";
        found.instructions.insertBefore(one, calls("jumps", descriptor, COMPARISONS.get(one.getOpcode())));
        ((JumpInsnNode) one).setOpcode(Opcodes.IFNE);
    }

    /** The call is made by a method of its own, or not. */
    private void mayBeLeftOut(ClassNode owner, MethodNode found, MethodInsnNode call) {
        List<Type> arguments = new ArrayList<>(List.of(Type.getArgumentTypes(call.desc)));
        if (call.getOpcode() != Opcodes.INVOKESTATIC) {
            arguments.add(0, Type.getObjectType(call.owner));
        }
        Type result = Type.getReturnType(call.desc);
        String descriptor = Type.getMethodDescriptor(result, arguments.toArray(new Type[0]));
        MethodNode own = new MethodNode(Opcodes.ACC_PRIVATE | Opcodes.ACC_STATIC, "mayBeLeftOut", descriptor, null, null);
        LabelNode isMade = new LabelNode();
        own.instructions.add(new LdcInsnNode(every));
        own.instructions.add(new LdcInsnNode(thread));
        own.instructions.add(new MethodInsnNode(Opcodes.INVOKESTATIC, MUTATED, "skips", "(ILjava/lang/String;)Z", false));
        own.instructions.add(new JumpInsnNode(Opcodes.IFEQ, isMade));
        if (result.getSort() >= Type.ARRAY) {
            own.instructions.add(new InsnNode(Opcodes.ACONST_NULL));
        } else if (result.getSort() != Type.VOID) {
            own.instructions.add(new InsnNode(result.getSort() == Type.LONG ? Opcodes.LCONST_0 : Opcodes.ICONST_0));
        }
        own.instructions.add(new InsnNode(result.getOpcode(Opcodes.IRETURN)));
        own.instructions.add(isMade);
        own.instructions.add(new FrameNode(Opcodes.F_SAME, 0, null, 0, null));
        int at = 0;
        for (Type argument : arguments) {
            own.instructions.add(new VarInsnNode(argument.getOpcode(Opcodes.ILOAD), at));
            at += argument.getSize();
        }
        own.instructions.add(new MethodInsnNode(call.getOpcode(), call.owner, call.name, call.desc, call.itf));
        own.instructions.add(new InsnNode(result.getOpcode(Opcodes.IRETURN)));
        owner.methods.add(own);
        found.instructions.set(call, new MethodInsnNode(Opcodes.INVOKESTATIC, owner.name, own.name, descriptor, false));
    }

    private void mutate(ClassNode owner, MethodNode found) {
        AbstractInsnNode call = place(found);
        boolean isLong = typeOf(call) == Type.LONG_TYPE;
        switch (kind) {
            case "returns":
                found.instructions.insert(call, calls("instead", "(IIILjava/lang/String;)I", null));
                break;
            case "plus":
                String descriptor = isLong ? "(JIILjava/lang/String;)J" : "(IIILjava/lang/String;)I";
                found.instructions.insert(call, calls("plus", descriptor, null));
                break;
            case "jumps":
                changesJump(found, call);
                break;
            case "skips":
                mayBeLeftOut(owner, found, (MethodInsnNode) call);
                break;
            default:
                throw wrong("is to be changed by " + kind);
        }
    }

    private byte[] mutated() throws Exception {
        ClassNode read = new ClassNode();
        ClassWriter writer;
        try (InputStream kafka = ClassLoader.getSystemResourceAsStream(owner + ".class")) {
            ClassReader reader = new ClassReader(kafka);
            reader.accept(read, 0);
            writer = new ClassWriter(reader, ClassWriter.COMPUTE_MAXS);
        }
        List<MethodNode> methods = new ArrayList<>(read.methods);
        methods.removeIf(one -> !one.name.equals(method));
        if (methods.size() != 1) {
            throw wrong("is there " + methods.size() + " times");
        }
        mutate(read, methods.get(0));
        read.accept(writer);
        return writer.toByteArray();
    }

    public static void main(String[] arguments) throws Exception {
        for (String line : Files.readAllLines(Path.of(arguments[0]))) {
            Mutate asked = new Mutate(line);
            Path file = Path.of(arguments[1], asked.name, asked.owner + ".class");
            Files.createDirectories(file.getParent());
            Files.write(file, asked.mutated());
        }
    }
}
