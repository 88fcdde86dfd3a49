"""What a run says of the machine that it was measured on."""

from __future__ import annotations

import pytest

from gapbook.errors import RecordError
from gapbook.trial.facts import machine, processor_of, require_same_kind

_ZEN_1 = "processor\t: 0\ncpu family\t: 23\nmodel\t\t: 1\nmodel name\t: AMD EPYC\nflags\t\t: fpu"
_ZEN_3 = _ZEN_1.replace("23", "25")


def test_generations_that_a_hypervisor_gives_one_name_are_told_apart() -> None:
    assert processor_of(_ZEN_1) == "AMD EPYC (family 23, model 1)"
    assert processor_of(f"{_ZEN_3}\n\n{_ZEN_1}") == "AMD EPYC (family 25, model 1)"
    here = machine()
    with pytest.raises(
        RecordError, match=r"processor AMD EPYC \(family 25, model 1\), not AMD EPYC \(family 23"
    ):
        require_same_kind(
            {**here, "processor": processor_of(_ZEN_1)}, {**here, "processor": processor_of(_ZEN_3)}
        )


def test_a_processor_without_family_keeps_its_name_and_one_without_name_has_none() -> None:
    assert processor_of("processor\t: 0\nmodel name\t: ARMv7") == "ARMv7"
    assert processor_of("processor\t: 0\nCPU part\t: 0xd0c") is None
