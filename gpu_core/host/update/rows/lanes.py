"""A short sorted row in vector registers: look up, insert and delete without branches.

A row of up to `MANY` one-word entries is loaded into *lanes*, one entry each; lanes after the row
hold `NONE`, which is above every neighbor. An insertion shifts all lanes that are not below the
key, whatever their number::

    new[i] = old[i]                  where old[i] < key
             max(old[i - 1], key)    elsewhere

so the processor has no loop to guess the length of: measured, that halves the time of a short row.
Only the row's own words are read and written, for other threads own what lies around them.

The functions emit LLVM's generic vector operations, which it turns into what the processor has. It
wants masked loads and stores: without them (x86 before AVX, NEON) each lane becomes a branch.
"""

from collections.abc import Callable
from typing import Any

from llvmlite import ir
from numba import types
from numba.core import cgutils
from numba.extending import intrinsic, models, register_model

from ....image.fields import NONE

#: Widths of lanes: most rows of a sparse graph fit `FEW`, one register where registers are wide.
FEW = 16
MANY = 64

_WORD = ir.IntType(32)
_BIT = ir.IntType(1)


class Lanes(types.Type):  # type: ignore[misc]  # Numba has no types
    """Numba type of ``width`` lanes of 32 bits."""

    def __init__(self, width: int) -> None:
        self.width = width
        super().__init__(name=f"Lanes({width})")

    @property
    def vector(self) -> ir.VectorType:
        """Type of the values."""
        return ir.VectorType(_WORD, self.width)

    @property
    def flags(self) -> ir.VectorType:
        """Type of one bit a lane."""
        return ir.VectorType(_BIT, self.width)

    def constant(self, values: int | list[int]) -> ir.Constant:
        """Lanes known beforehand: the same in all of them, or one each."""
        listed = [values] * self.width if isinstance(values, int) else values
        return ir.Constant(self.vector, listed)


@register_model(Lanes)
class _LanesModel(models.PrimitiveModel):  # type: ignore[misc]  # Numba has no types
    def __init__(self, manager: Any, lanes: Lanes) -> None:
        super().__init__(manager, lanes, lanes.vector)


def _spread(builder: Any, lanes: Lanes, value: Any) -> Any:
    """One value in every lane."""
    undefined = ir.Constant(lanes.vector, ir.Undefined)
    first = builder.insert_element(undefined, value, _WORD(0))
    return builder.shuffle_vector(first, undefined, lanes.constant(0))


def _first(builder: Any, lanes: Lanes, count: Any) -> Any:
    """Flags of the first ``count`` lanes."""
    numbers = lanes.constant(list(range(lanes.width)))
    return builder.icmp_unsigned("<", numbers, _spread(builder, lanes, builder.trunc(count, _WORD)))


def _address(context: Any, builder: Any, array_type: Any, array: Any, index: Any) -> Any:
    view = context.make_array(array_type)(context, builder, array)
    return builder.bitcast(builder.gep(view.data, [index]), cgutils.voidptr_t)


def _loader(lanes: Lanes) -> Callable[..., Any]:
    """Function that loads lanes of this width."""

    @intrinsic
    def load(typing_context: Any, array: Any, index: Any, count: Any) -> Any:
        """Lanes with ``array[index:index + count]``; the others hold `NONE`."""

        def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
            position = _address(context, builder, signature.args[0], *arguments[:2])
            kinds = [cgutils.voidptr_t, _WORD, lanes.flags, lanes.vector]
            name = f"llvm.masked.load.v{lanes.width}i32.p0"
            function_type = ir.FunctionType(lanes.vector, kinds)
            function = cgutils.get_or_insert_function(builder.module, function_type, name)
            held = _first(builder, lanes, arguments[2])
            return builder.call(function, [position, _WORD(4), held, lanes.constant(NONE)])

        return lanes(array, types.intp, types.intp), generate

    return load


load_few = _loader(Lanes(FEW))
load_many = _loader(Lanes(MANY))


@intrinsic
def store(typing_context: Any, array: Any, index: Any, count: Any, lanes: Any) -> Any:
    """Write the first ``count`` lanes to ``array[index:index + count]``."""

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        position = _address(context, builder, signature.args[0], *arguments[:2])
        kinds = [lanes.vector, cgutils.voidptr_t, _WORD, lanes.flags]
        name = f"llvm.masked.store.v{lanes.width}i32.p0"
        function_type = ir.FunctionType(ir.VoidType(), kinds)
        function = cgutils.get_or_insert_function(builder.module, function_type, name)
        written = _first(builder, lanes, arguments[2])
        builder.call(function, [arguments[3], position, _WORD(4), written])
        return context.get_dummy_value()

    return types.void(array, types.intp, types.intp, lanes), generate


@intrinsic
def holds(typing_context: Any, lanes: Any, key: Any) -> Any:
    """Whether a lane holds the key."""

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        same = builder.icmp_unsigned("==", arguments[0], _spread(builder, lanes, arguments[1]))
        bits = ir.IntType(lanes.width)
        return builder.icmp_unsigned("!=", builder.bitcast(same, bits), bits(0))

    return types.boolean(lanes, types.uint32), generate


@intrinsic
def with_key(typing_context: Any, lanes: Any, key: Any) -> Any:
    """Sorted lanes with one more key, which they do not hold."""

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        old, key = arguments[0], _spread(builder, lanes, arguments[1])
        # Lane 0 gets a zero, which is above no key.
        order = lanes.constant([lanes.width, *range(lanes.width - 1)])
        before = builder.shuffle_vector(old, lanes.constant(0), order)
        larger = builder.select(builder.icmp_unsigned("<", before, key), key, before)
        return builder.select(builder.icmp_unsigned("<", old, key), old, larger)

    return lanes(lanes, types.uint32), generate


@intrinsic
def without_key(typing_context: Any, lanes: Any, key: Any) -> Any:
    """Sorted lanes less one key, which they hold."""

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        old, key = arguments[0], _spread(builder, lanes, arguments[1])
        order = lanes.constant(list(range(1, lanes.width + 1)))
        shifted = builder.shuffle_vector(old, lanes.constant(NONE), order)
        return builder.select(builder.icmp_unsigned("<", old, key), old, shifted)

    return lanes(lanes, types.uint32), generate
