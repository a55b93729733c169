"""Which calls of one turn do not depend on each other, so that one need not wait for the other's sign-off."""

from __future__ import annotations

from remit.skills import Skill
from remit_sandbox.values import CellSpec


def independent(call: Skill | None, earlier: Skill | None) -> bool:
    """Say whether `call` gives the same, and changes the same, whether `earlier` ran before it or runs after it.

    What a skill really reads or changes nobody can know; what it can is what the kernel lets it. So this is only sure
    where both only read, or where the cell of `call`, which only reads, has no right at all to files, network,
    programs or data, and belongs to another pack: it can neither see nor touch what the other one does.
    """
    if call is None or earlier is None or call.effect != "read":
        return False
    if earlier.effect == "read":
        return True
    return call.confined and call.pack != earlier.pack and call.cell is not None and _sees_nothing(call.cell)


def _sees_nothing(cell: CellSpec) -> bool:
    rights = cell.rights
    reach = (rights.read, rights.write, rights.net, rights.exec, rights.shm)
    return not any(reach) and cell.workspace is None and cell.data is None and cell.enforcement == "kernel"
