import jax
import pytest

from attar import compiled


@pytest.fixture
def traced(monkeypatch):
    """A compiled function, the arguments it was compiled for, and a process that is past its share of maps."""
    seen = []
    double = jax.jit(lambda x: seen.append(x) or 2 * x)
    double(1.0)
    compiled.make_room()
    double(1.0)
    assert len(seen) == 1
    monkeypatch.setattr(compiled, "SHARE", 0.0)
    return double, seen


@pytest.mark.skipif(not compiled.LIMIT.exists(), reason="only Linux limits memory maps")
def test_what_was_compiled_is_forgotten_when_maps_run_out(traced):
    double, seen = traced
    compiled.make_room()
    assert double(1.0) == 2.0
    assert len(seen) == 2


def test_without_a_limit_nothing_is_forgotten(traced, monkeypatch, tmp_path):
    double, seen = traced
    monkeypatch.setattr(compiled, "LIMIT", tmp_path / "none")
    compiled.make_room()
    double(1.0)
    assert len(seen) == 1
