import jax
import pytest

from attar import compiled


@pytest.mark.skipif(not compiled.LIMIT.exists(), reason="only Linux limits memory maps")
def test_what_was_compiled_is_forgotten_when_maps_run_out(monkeypatch):
    traced = []
    double = jax.jit(lambda x: traced.append(x) or 2 * x)
    double(1.0)
    compiled.make_room()
    double(1.0)
    assert len(traced) == 1
    monkeypatch.setattr(compiled, "SHARE", 0.0)
    compiled.make_room()
    assert double(1.0) == 2.0
    assert len(traced) == 2


def test_without_a_limit_nothing_is_forgotten(monkeypatch, tmp_path):
    monkeypatch.setattr(compiled, "LIMIT", tmp_path / "none")
    compiled.make_room()
