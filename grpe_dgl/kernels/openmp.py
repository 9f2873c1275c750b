"""Run the shares of a compiled kernel on torch's own threads.

numba's threads would be a second pool beside torch's: between two operations torch's threads still spin, waiting for
the next one, and on a machine of few cores the two pools slow each other down. So a kernel is forked through the OpenMP
runtime (libgomp) that torch itself has loaded. Where torch was built with another runtime, a pool of Python threads
runs the shares.
"""

import ctypes
import functools
import glob
import os
from concurrent.futures import ThreadPoolExecutor, wait
from typing import Any, NamedTuple

import torch
from llvmlite import ir
from numba.core import cgutils, types
from numba.core.extending import intrinsic


class Runtime(NamedTuple):
    """Addresses of the three OpenMP functions a kernel calls; all 0 where there is no libgomp."""

    parallel: int
    thread_number: int
    num_threads: int


def run(kernel: Any, threads: int, *arguments: Any) -> None:
    """Call ``kernel(runtime, first, last, *arguments)``, which does shares first..last-1, for `threads` shares in all.

    Parameters
    ----------
    kernel
        A compiled function that passes its arguments to `fork`, and releases the GIL.
    threads
        How many shares there are.
    *arguments
        The arguments of every share.
    """
    runtime = _torch_runtime()
    if runtime.parallel or threads == 1:
        kernel(runtime, 0, threads, *arguments)
    else:
        others = [_pool().submit(kernel, runtime, share, share + 1, *arguments) for share in range(1, threads)]
        try:
            kernel(runtime, 0, 1, *arguments)
        finally:
            wait(others)  # they use the caller's arrays
        for other in others:
            other.result()  # raises what the share raised


@functools.cache
def _pool() -> ThreadPoolExecutor:
    """Return the threads that run shares without libgomp; they start when they are first needed."""
    return ThreadPoolExecutor(os.cpu_count() or 1, thread_name_prefix="grpe-kernel")


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_pool.cache_clear)  # a forked process has the pool but not its threads


@functools.cache
def _torch_runtime() -> Runtime:
    beside_torch = os.path.join(os.path.dirname(torch.__file__), "lib", "libgomp*.so*")
    for path in (*glob.glob(beside_torch), "libgomp.so.1"):
        try:
            library = ctypes.CDLL(path, mode=os.RTLD_NOW | os.RTLD_NOLOAD)
        except (OSError, AttributeError):  # not loaded, or a system without RTLD_NOLOAD
            continue
        names = ("GOMP_parallel", "omp_get_thread_num", "omp_get_num_threads")
        return Runtime(*(ctypes.cast(getattr(library, name), ctypes.c_void_p).value or 0 for name in names))
    return Runtime(0, 0, 0)


@intrinsic
def fork(typing: Any, share: Any, runtime: Any, first: Any, last: Any, arguments: Any) -> Any:
    """Call ``share(number, arguments)`` for the numbers first..last-1 on the runtime's threads; return how many failed.

    With one number only, or no runtime, the calling thread does them all. Which thread does which number is not fixed,
    so the result of a share must depend on its number and the arguments alone.
    """
    signature = share.get_call_type(typing, (types.int64, arguments), {})

    def codegen(context: Any, builder: Any, _: Any, values: Any) -> Any:
        _, runtime_value, first_value, last_value, argument_value = values
        result = share.dispatcher.get_compile_result(signature)
        context.active_code_library.add_linking_library(result.library)
        word, pointer = ir.IntType(64), ir.IntType(8).as_pointer()
        task = ir.LiteralStructType([word] * 5 + [argument_value.type])  # failures, first, last, two addresses
        number_of, team_of = (builder.extract_value(runtime_value, index) for index in (1, 2))
        fields = [ir.Constant(word, 0), first_value, last_value, number_of, team_of, argument_value]
        memory = cgutils.alloca_once(builder, task)
        for index, field in enumerate(fields):
            builder.store(field, cgutils.gep_inbounds(builder, memory, 0, index))

        name = builder.module.get_unique_name("shares")
        worker = ir.Function(builder.module, ir.FunctionType(ir.VoidType(), [pointer]), name)
        worker.linkage = "internal"
        inside = ir.IRBuilder(worker.append_basic_block())
        mine = inside.bitcast(worker.args[0], task.as_pointer())
        start, end, number_at, team_at, given = (
            inside.load(cgutils.gep_inbounds(inside, mine, 0, index)) for index in range(1, 6)
        )
        integer = ir.FunctionType(ir.IntType(32), [])

        def call(address: ir.Value, otherwise: int) -> ir.Value:
            """Return the result of the function at `address`, or `otherwise` if the address is 0."""
            answer = cgutils.alloca_once_value(inside, ir.Constant(word, otherwise))
            with inside.if_then(inside.icmp_unsigned("!=", address, ir.Constant(word, 0))):
                function = inside.inttoptr(address, integer.as_pointer())
                inside.store(inside.sext(inside.call(function, []), word), answer)
            return inside.load(answer)

        number, team = call(number_at, 0), call(team_at, 1)
        with cgutils.for_range_slice(inside, inside.add(start, number), end, team) as (index, _):
            status, _ = context.call_internal_no_propagate(inside, result.fndesc, signature, [index, given])
            with inside.if_then(status.is_error):
                failures = cgutils.gep_inbounds(inside, mine, 0, 0)
                inside.atomic_rmw("add", failures, ir.Constant(word, 1), "monotonic")
        inside.ret_void()

        data = builder.bitcast(memory, pointer)
        count = builder.sub(last_value, first_value)
        fork_address = builder.extract_value(runtime_value, 0)
        alone = builder.or_(
            builder.icmp_signed("<=", count, ir.Constant(word, 1)),
            builder.icmp_unsigned("==", fork_address, ir.Constant(word, 0)),
        )
        with builder.if_else(alone) as (then, otherwise):
            with then:
                for index in (3, 4):  # outside a team the runtime's two functions are not called
                    builder.store(ir.Constant(word, 0), cgutils.gep_inbounds(builder, memory, 0, index))
                builder.call(worker, [data])
            with otherwise:
                unsigned = ir.IntType(32)
                shape = ir.FunctionType(ir.VoidType(), [worker.type, pointer, unsigned, unsigned])
                gomp_parallel = builder.inttoptr(fork_address, shape.as_pointer())
                builder.call(gomp_parallel, [worker, data, builder.trunc(count, unsigned), ir.Constant(unsigned, 0)])
        return builder.load(cgutils.gep_inbounds(builder, memory, 0, 0))

    return types.int64(share, runtime, types.int64, types.int64, arguments), codegen
