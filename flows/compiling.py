"""Whether kernels are compiled while a command starts: once in each environment, up to a minute.

Workers and this process keep what they compile in one folder, so its files tell, whoever compiles.
Workers on other machines have folders of their own.
"""


class CompiledKernels:
    """Counts kernels that were compiled since it was made."""

    def __init__(self) -> None:
        self._before = _compiled_files()
        #: Compiled so far.
        self.count = 0

    def look(self) -> None:
        """Count again."""
        self.count = max(self.count, _compiled_files() - self._before)

    def texts(self) -> list[str]:
        """What is to be told: nothing, unless something is compiled."""
        if self.count:
            return [f"compiling kernels, once in this environment: {self.count:,} so far"]
        return [] if self._before else ["kernels are compiled once in each environment"]


def _compiled_files() -> int:
    from ..gpu_core.jit.compile import cache_folder  # brings Numba

    return sum(1 for _ in cache_folder().rglob("*.nbc"))
