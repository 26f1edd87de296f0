import io

from rich.console import Console

from attar import progress


def test_lines_tell_now_and_then_and_at_the_end(capsys, monkeypatch):
    clock = [100.0]
    monkeypatch.setattr(progress.time, "monotonic", lambda: clock[0])
    with progress.Lines() as lines:
        lines.stage("teachers", 40, done=10)
        for done in range(11, 41):
            clock[0] += 1.0
            lines.update(done, "going well")
        lines.say("a word")
    told = capsys.readouterr().err.splitlines()
    assert told == [
        "teachers: 20/40, about 20 s left, going well",
        "teachers: 30/40, about 10 s left, going well",
        "teachers: 40/40, 30.0 s, going well",
        "note: a word",
    ]


def test_bars_show_stage_progress_and_notes_as_they_are():
    console = Console(file=io.StringIO(), force_terminal=True, width=120)
    with progress.Bars(console) as bars:
        bars.stage("teachers", 30)
        bars.update(30, "done")
        bars.say("Column '[red]x' differs")
    shown = console.file.getvalue()
    assert "teachers" in shown
    assert "30/30" in shown
    assert "'[red]x'" in shown


def test_silent_shows_nothing(capsys):
    silent = progress.Silent()
    silent.stage("teachers", 3)
    silent.update(1)
    silent.say("nothing")
    assert capsys.readouterr() == ("", "")
