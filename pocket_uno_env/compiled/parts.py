"""Compiling what Python calls, and what that calls as parts of it.

Numba by itself makes of every function what Python could call: optimized together with all that it
calls, turned into machine code, with a wrapper that unpacks arguments. In a chain of ten kernels
the last is then optimized ten times. Here that is made only of what Python does call, a *whole*. A
kernel that is called by another is a *part*: it is optimized with the wholes that take it in.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from contextlib import AbstractContextManager
from typing import Any

from numba.core import compiler, event
from numba.core.codegen import JITCodeLibrary
from numba.core.sigutils import normalize_signature


def _in_order(libraries: Iterable[Any]) -> list[Any]:
    """All that some code consists of, each behind all that call it."""
    found: dict[Any, None] = {}
    reversed_order = []

    def visit(library: Any) -> None:
        if library not in found:
            found[library] = None
            if isinstance(library, _Part):
                for called in library._linking_libraries:
                    visit(called)
            reversed_order.append(library)

    for library in libraries:
        visit(library)
    return reversed_order[::-1]


def _take_in(module: Any, libraries: Iterable[Any]) -> None:
    """Link libraries, and all that they call, into an LLVM module."""
    # The linker leaves out what nobody has asked for yet, hence the order.
    for library in _in_order(libraries):
        part = isinstance(library, _Part)
        code = library._final_module if part else library._get_module_for_linking()
        module.link_in(code, preserve=True)
    missing = [f.name for f in module.functions if f.is_declaration and f.name.startswith("_ZN")]
    assert not missing, missing


class _Part(JITCodeLibrary):
    """The code of one kernel, to be taken in by others."""

    def finalize(self) -> None:
        """It is complete as it is; what it calls stays apart."""
        self._raise_if_finalized()
        self._finalized = True

    def _get_module_for_linking(self) -> Any:
        """For a caller that knows nothing of parts, a plain function of Numba's."""
        if self._shared_module is None:  # type: ignore[has-type]
            module = self._final_module.clone()
            _take_in(module, self._linking_libraries)
            for function in module.functions:
                if not function.is_declaration:
                    function.linkage = "linkonce_odr"
            self._shared_module = module
        return self._shared_module


class _Whole(JITCodeLibrary):
    """The code of one kernel and of all that it calls."""

    def finalize(self) -> None:
        """Take everything in, optimize it, and make machine code of it."""
        own = {f.name for f in self._final_module.functions if not f.is_declaration}
        for library in _in_order(self._linking_libraries):
            self._reload_init.update(library._reload_init)
        _take_in(self._final_module, self._linking_libraries)
        self._linking_libraries: list[Any] = []
        # Nobody else calls what was taken in: LLVM may change what it takes and returns.
        for function in self._final_module.functions:
            if not function.is_declaration and function.name not in own:
                function.linkage = "internal"
        super().finalize()


class WholeCompiler(compiler.Compiler):
    """Numba's compiler for what Python calls."""

    _library: type[JITCodeLibrary] = _Whole

    def compile_extra(self, function: Callable[..., Any]) -> Any:
        """The result of compiling a function."""
        library = self._library(self.state.targetctx.codegen(), function.__qualname__)
        library.enable_object_caching()
        self.state.library = library
        self.state.flags.no_cfunc_wrapper = True
        return super().compile_extra(function)


class _PartCompiler(WholeCompiler):
    """Numba's compiler for what kernels call."""

    _library = _Part

    def compile_extra(self, function: Callable[..., Any]) -> Any:
        """The result of compiling a function, without an entry point."""
        self.state.flags.no_compile = True
        self.state.flags.no_cpython_wrapper = True
        return super().compile_extra(function)


class _Place:
    """In place of a part's entry point: what callers find its code by."""


_compiling: list[Any] = []
"""The whole that is being compiled, if any: Numba compiles one thing at a time."""


def compile_in_parts(
    dispatcher: Any, turn: Callable[[], AbstractContextManager[None]], tell: Callable[[], None]
) -> None:
    """Let a dispatcher made with `WholeCompiler` compile parts for other kernels.

    Parameters
    ----------
    turn : callable
        Makes the context in which everything is compiled, one at a time.
    tell : callable
        Called for each part that is compiled.
    """
    compile_whole = dispatcher.compile
    options = dispatcher.targetdescr, dispatcher.targetoptions, dispatcher.locals
    part_compiler = type(dispatcher._compiler)(dispatcher.py_func, *options, _PartCompiler)

    def compile_part(arguments: tuple[Any, ...], return_type: Any) -> Any:
        if arguments not in dispatcher.overloads:
            tell()
            about = {"dispatcher": dispatcher, "args": arguments, "return_type": return_type}
            with dispatcher._compiling_counter, event.trigger_event("numba:compile", data=about):
                made = part_compiler.compile(arguments, return_type)
            made = made._replace(entry_point=_Place())
            dispatcher.targetctx.insert_user_function(made.entry_point, made.fndesc, [made.library])
            dispatcher.overloads[arguments] = made
        return dispatcher.overloads[arguments].entry_point

    def compile_now(signature: Any) -> Any:
        arguments, return_type = normalize_signature(signature)
        arguments = tuple(arguments)
        with turn():
            if _compiling:
                return compile_part(arguments, return_type)
            made = dispatcher.overloads.get(arguments)
            if made is not None and isinstance(made.entry_point, _Place):
                del dispatcher.overloads[arguments]  # now Python calls it as well
            _compiling.append(dispatcher)
            try:
                return compile_whole(signature)
            finally:
                _compiling.pop()

    dispatcher.compile = compile_now
