"""Make the bitcode that the package carries: ``make bitcode``, after every change of a kernel.

Small work that calls each kernel shows for which types of arguments it is needed; numba then compiles it for these,
without the parts that need Python or numba at run time, and LLVM's optimised bitcode is written.
"""

from __future__ import annotations

import os
import re
import sys
from typing import Any

# 256-bit vectors, which LLVM splits where a processor has none.
os.environ |= {"NUMBA_CPU_NAME": "haswell", "NUMBA_CPU_FEATURES": "+avx2,+fma", "NUMBA_CACHE_DIR": os.devnull}

from llvmlite import binding
from numba import typeof
from numba.core import types

from surefoot import _bitcode
from surefoot._numba import Kernel
from tools.workout import workout

BARE = {"_nrt": False, "no_cpython_wrapper": True, "no_cfunc_wrapper": True}


def main() -> None:
    calls = recorded(workout)
    for other in {other for kernel, _ in calls.values() for other in kernels_in(kernel)}:
        other.options |= BARE
        other.cached = False
        vars(other).pop("dispatcher", None)
    made = {_bitcode.file_of(*name): compiled(*call) for name, call in sorted(calls.items())}
    for file in _bitcode.FOLDER.glob("*.bc"):
        file.unlink()
    for file, bitcode in made.items():
        file.write_bytes(bitcode)
        print(f"{len(bitcode):7,} bytes  {file.name}")


def recorded(work: Any) -> dict[tuple[str, str], tuple[Kernel, tuple[types.Type, ...]]]:
    """The kernels that the work calls from Python, by name and types of arguments, and numba's types."""
    calls: dict[tuple[str, str], tuple[Kernel, tuple[types.Type, ...]]] = {}

    def record(kernel: Kernel, *arguments: Any) -> Any:
        types_ = _bitcode.types_of([*_bitcode.leaves_of(arguments)])
        if "other" not in types_:
            calls[kernel.codes.name, types_] = kernel, tuple(map(typeof, arguments))
        return kernel.dispatcher(*arguments)

    Kernel.__call__ = record  # type: ignore[method-assign]
    work()
    return calls


def kernels_in(kernel: Kernel) -> set[Kernel]:
    """A kernel and all that it calls."""
    found, left = {kernel}, [kernel]
    while left:
        names = vars(left.pop())["function"]
        for name in names.__code__.co_names:
            other = names.__globals__.get(name)
            if isinstance(other, Kernel) and other not in found:
                found.add(other)
                left.append(other)
    return found


def compiled(kernel: Kernel, signature: tuple[types.Type, ...]) -> bytes:
    """The bitcode of a kernel, whose one function is named after the types that it returns."""
    kernel.dispatcher.compile(signature)
    overload = kernel.dispatcher.overloads[signature]
    # What the optimiser may do with sums it has done; the rest would make figures depend on the processor.
    assembly = re.sub(r" (reassoc|contract)\b", "", str(overload.library._final_module))
    assembly = re.sub(r"(?<!@)\b(_ZN\w+?)B\d+v\d+B", r"\1B", assembly)  # numba's count of what it compiled before
    module = binding.parse_assembly(assembly)
    others = (one for one in (*module.functions, *module.global_variables) if not one.is_declaration)
    for number, other in enumerate(one for one in others if one.name != overload.fndesc.llvm_func_name):
        other.linkage, other.name = "internal", f"part{number}"  # numba's own names differ from run to run
    module.get_function(overload.fndesc.llvm_func_name).name = returned(overload.signature.return_type)
    passes = binding.create_new_module_pass_manager()
    passes.add_global_dead_code_eliminate_pass()
    passes.add_strip_symbols_pass()  # names of values too differ from run to run
    options = binding.create_pipeline_tuning_options()
    machine = binding.Target.from_default_triple().create_target_machine()
    passes.run(module, binding.create_pass_builder(machine, options))
    return bytes(module.as_bitcode())


def returned(kind: types.Type) -> str:
    """The returned types, as `_bitcode` writes types."""
    if isinstance(kind, types.NoneType):
        return "none"
    kinds = kind.types if isinstance(kind, types.BaseTuple) else [kind]
    return "-".join({"int64": "i8", "bool": "b1", "float64": "f8"}[str(one)] for one in kinds)


if __name__ == "__main__":
    sys.exit(main())
