import java.lang.reflect.Constructor;
import java.lang.reflect.Executable;
import java.lang.reflect.InvocationTargetException;
import java.lang.reflect.Method;
import java.lang.reflect.Proxy;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.Collections;
import java.util.Comparator;
import java.util.Iterator;
import java.util.List;
import java.util.Optional;
import java.util.Properties;
import java.util.stream.Stream;
import org.apache.kafka.common.utils.Time;
import scala.Option;

/**
 * Calls what differs a little from release to release: of the same name the method with most parameters is called, and
 * each parameter gets the first of the given values that fits and is left. Without one it gets what does nothing: an
 * interface that answers with nothing, no, one, or an object that is filled in the same way.
 */
final class Filled {
    private static final List<Class<?>> BOXES =
        Arrays.asList(Integer.class, Long.class, Short.class, Byte.class, Boolean.class);

    private Filled() {
    }

    static Object call(Object target, String name, Object... given) throws Exception {
        return callOf(target.getClass(), target, name, given);
    }

    static Object callOf(Class<?> owner, Object target, String name, Object... given) throws Exception {
        Method method = longest(Stream.of(owner.getMethods()).filter(one -> one.getName().equals(name) && !one.isBridge()));
        method.setAccessible(true);
        try {
            return method.invoke(target, filled(method, given));
        } catch (InvocationTargetException error) {
            throw new IllegalStateException(name + " threw", error.getCause());
        }
    }

    static <T> T made(Class<T> type, Object... given) throws Exception {
        Constructor<?> constructor = longest(Stream.of(type.getConstructors()));
        return type.cast(constructor.newInstance(filled(constructor, given)));
    }

    private static <E extends Executable> E longest(Stream<E> found) {
        return found.max(Comparator.comparingInt(Executable::getParameterCount)).get();
    }

    private static Object[] filled(Executable what, Object[] given) throws Exception {
        List<Object> left = new ArrayList<>(Arrays.asList(given));
        List<Object> arguments = new ArrayList<>();
        for (Class<?> type : what.getParameterTypes()) {
            arguments.add(one(boxed(type), left));
        }
        return arguments.toArray();
    }

    private static Object one(Class<?> type, List<Object> left) throws Exception {
        for (Iterator<Object> values = left.iterator(); values.hasNext();) {
            Object value = values.next();
            if (type.isInstance(value)) {
                values.remove();
                return value;
            }
        }
        return nothing(type);
    }

    private static Object nothing(Class<?> type) throws Exception {
        if (type == Time.class) {
            return Time.SYSTEM;
        } else if (type == Optional.class) {
            return Optional.empty();
        } else if (type == Option.class) {
            return Option.empty();
        } else if (scala.collection.Seq.class.isAssignableFrom(type)) {
            return scala.collection.immutable.Nil$.MODULE$;
        } else if (type == java.util.Set.class) {
            return Collections.emptySet();
        } else if (BOXES.contains(type)) {
            return type.getMethod("valueOf", String.class).invoke(null, type == Boolean.class ? "false" : "1");
        } else if (type == String.class) {
            return "none";
        } else if (type.isEnum()) {
            return type.getEnumConstants()[type.getEnumConstants().length - 1];
        } else if (type.isInterface()) {
            return Proxy.newProxyInstance(type.getClassLoader(), new Class<?>[] {type}, (self, method, values) -> answer(method));
        }
        return made(type);
    }

    private static Object answer(Method method) throws Exception {
        Class<?> type = boxed(method.getReturnType());
        boolean isKnown = BOXES.contains(type) || type == Optional.class || type == Option.class || type.isInterface();
        return isKnown ? nothing(type) : type == Properties.class ? new Properties() : null;
    }

    private static Class<?> boxed(Class<?> type) {
        return java.lang.invoke.MethodType.methodType(type).wrap().returnType();
    }
}
