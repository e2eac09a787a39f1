"""Addresses as pointers, for kernels that are handed memory by its address: see `numba.carray`."""

from typing import Any

from llvmlite import ir
from numba import types
from numba.extending import intrinsic


@intrinsic
def bytes_at(typing_context: Any, address: Any) -> Any:
    """Pointer to the bytes at an address."""
    return types.CPointer(types.uint8)(types.int64), _cast


@intrinsic
def int64s_at(typing_context: Any, address: Any) -> Any:
    """Pointer to the int64 at an address."""
    return types.CPointer(types.int64)(types.int64), _cast


@intrinsic
def uint32s_at(typing_context: Any, address: Any) -> Any:
    """Pointer to the uint32 at an address."""
    return types.CPointer(types.uint32)(types.int64), _cast


def _cast(context: Any, builder: Any, signature: Any, arguments: Any) -> ir.Value:
    return builder.inttoptr(arguments[0], context.get_value_type(signature.return_type))
