"""Inlined functions that borrow the arrays which they are called with.

Numba counts who holds an array: a function counts itself for each that it is called with, also
where LLVM inlines it, and LLVM does not take all of these counts out again. They are atomic, at
each row of a graph, and threads fight over them. A function that makes no array need not count: its
caller holds those that it is given. So it is compiled without counts, which Numba refuses for one
that makes arrays. Those that are returned would have to be counted, and are refused here.

Kernels alone call it, so Numba's wrapper for calls from Python is left out, which takes as long to
compile as the function. Where Python calls one all the same, as tests do, it is compiled again.
"""

from typing import Any

import numba
from numba.core.registry import cpu_target


def only_borrow(dispatcher: Any) -> None:
    """Have a function of Numba's refuse to return arrays, and Python call another compilation."""
    compile_signature = dispatcher.compile

    def compile_checked(sig: Any) -> Any:
        entry_point = compile_signature(sig)
        for compiled in dispatcher.overloads.values():
            _refuse_arrays(dispatcher.py_func.__name__, compiled.signature.return_type)
        return entry_point

    for_python = numba.njit(error_model="numpy")(dispatcher.py_func)
    dispatcher.compile = compile_checked
    # Python looks for a compilation among those that are inserted, then asks for one.
    dispatcher._insert = lambda *_: None
    dispatcher._compile_for_args = lambda *_, **__: for_python


def _refuse_arrays(name: str, returned: Any) -> None:
    if cpu_target.target_context.data_model_manager[returned].contains_nrt_meminfo():
        msg = f"{name} returns {returned}: it may be `inlined`, but not `borrowing`"
        raise TypeError(msg)
