"""What the compiler is told of classes of which many are made; interpreted they are as they are.

    @mypyc_attr(acyclic=True, free_list_len=1)

`acyclic`: nothing that its instances refer to leads back to them, so the cyclic garbage collector
need not know them. `free_list_len=1`: the last one that went is the next one that is made, for
classes of which one lives at a time.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

__all__ = ("mypyc_attr",)

if TYPE_CHECKING:
    from mypy_extensions import mypyc_attr
else:

    def mypyc_attr(**_attributes: object) -> object:
        """What the compiler alone looks at: the class as it is."""
        return _as_it_is

    def _as_it_is(made: object) -> object:
        return made
